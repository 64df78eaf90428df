// The stateless generation of the protocol (2026-07-28), spoken by its authors' own server.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startModernHTTPServer } from "./support/modern-http-server.mjs";
import { until } from "./support/processes.mjs";
import { connected, script } from "./support/servers.mjs";

const modernOnly = (more) => {
  const config = script("modern-server.mjs", more);
  return { ...config, args: [...config.args, "modern-only"] };
};

for (const [transport, start] of Object.entries({
  stdio: (_, more) => modernOnly(more),
  HTTP: async (t, more) => ({ url: (await startModernHTTPServer(t)).url, ...more }),
})) {
  describe(`a 2026-07-28 server over ${transport}`, () => {
    it(`a 2026-07-28 server over ${transport} lists and calls`, async (t) => {
      const { call, wrapper, tool } = await connected(t, await start(t));
      assert.deepEqual(wrapper.tools.map(({ name }) => name).sort(), ["add", "greet", "learn", "steps"]);
      assert.equal(tool("add").version, "7.8.9");
      assert.deepEqual((await call("add", { a: 2, b: 40 })).data, { sum: 42 });
      const sums = await Promise.all(Array.from({ length: 20 }, (_, i) => call("add", { a: i, b: i })));
      assert.deepEqual(
        sums.map(({ data }) => data.sum),
        Array.from({ length: 20 }, (_, i) => 2 * i),
      );
    });

    it(`a 2026-07-28 server over ${transport} reports progress`, async (t) => {
      const { call } = await connected(t, await start(t));
      const seen = [];
      await call("steps", { steps: 4 }, { onProgress: ({ progress }) => seen.push(progress) });
      assert.deepEqual(seen, [1, 2, 3, 4]);
    });

    it(`a 2026-07-28 server over ${transport} elicits in a second round`, async (t) => {
      const onElicitation = ({ message }) => ({ action: "accept", content: { name: message.length } });
      const { call } = await connected(t, await start(t, { onElicitation }));
      assert.equal((await call("greet")).data[0].text, "accept: 18");
    });

    it(`a 2026-07-28 server over ${transport} gets an error if there is no callback`, async (t) => {
      const { call } = await connected(t, await start(t));
      const outcome = await call("greet").then(
        ({ data }) => data[0].text,
        ({ code }) => code,
      );
      assert.ok(/^decline/.test(outcome) || outcome === "EXECUTION_ERROR", outcome);
    });
  });
}

describe("a 2026-07-28 server that starts too slowly to be recognised", () => {
  for (const [what, traits] of [
    ["says so when it is greeted in the older way", []],
    ["answers after it was greeted in the older way", ["late-answer"]],
  ]) {
    it(`a 2026-07-28 server that starts too slowly to be recognised is connected: ${what}`, async (t) => {
      const config = script("late-server.mjs");
      const { call } = await connected(t, { ...config, args: [...config.args, ...traits] });
      assert.equal((await call("echo")).data[0].text, "here");
    });
  }
});

it("changes of the tools arrive over stdio", async (t) => {
  const { call, wrapper } = await connected(t, modernOnly());
  await until(async () => {
    // Whoever has not subscribed yet does not hear of it.
    await call("learn");
    return wrapper.tools.some(({ name }) => name === "news");
  }, "the new tool is there");
});

it("changes of the tools arrive over HTTP", async (t) => {
  const server = await startModernHTTPServer(t);
  const { wrapper } = await connected(t, { url: server.url });
  server.learn();
  await until(() => {
    // Whoever has not subscribed yet does not hear of it.
    server.notify.toolsChanged();
    return wrapper.tools.some(({ name }) => name === "news");
  }, "the new tool is there");
});

it("a change of the tools between the list and the subscription is seen", async (t) => {
  const { url } = await startModernHTTPServer(t, { learnsBeforeSubscription: true });
  const { wrapper } = await connected(t, { url });
  await until(() => wrapper.tools.some(({ name }) => name === "news"), "the new tool is there");
});

it("a server that speaks both generations is used in the newer one", async (t) => {
  const { call } = await connected(t, script("modern-server.mjs"));
  assert.deepEqual((await call("add", { a: 1, b: 1 })).data, { sum: 2 });
});
