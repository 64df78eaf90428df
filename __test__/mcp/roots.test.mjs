// What a server may work on, and the environment that it gets.

import assert from "node:assert/strict";
import { resolve } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { until } from "./support/processes.mjs";
import { connected, failure, stdio } from "./support/servers.mjs";

describe("roots", { timeout: 60_000 }, () => {
  it("roots are paths and URLs, and a function is asked each time", async (t) => {
    const { ask } = await connected(t, stdio([], { roots: [".", "https://docs.example/api"] }));
    const { result } = await ask("ask-roots");
    assert.deepEqual(
      result.roots.map(({ uri }) => uri),
      [pathToFileURL(resolve(".")).href, "https://docs.example/api"],
    );
    let folder = "one";
    const other = await connected(t, stdio([], { roots: async () => [folder] }));
    const uris = async () => (await other.ask("ask-roots")).result.roots.map(({ uri }) => uri);
    assert.deepEqual(await uris(), [pathToFileURL(resolve("one")).href]);
    folder = "two";
    assert.deepEqual(await uris(), [pathToFileURL(resolve("two")).href]);
  });

  it("rootsChanged announces a change, and the capability is there only with roots", async (t) => {
    const messages = async ({ ask }) => ask("received");
    const { wrapper, ...server } = await connected(t, stdio([], { roots: ["."] }));
    wrapper.client.rootsChanged();
    const methods = async () => (await messages(server)).map(({ method }) => method);
    await until(
      async () => (await methods()).includes("notifications/roots/list_changed"),
      "it is announced",
    );
    const capabilitiesOf = (all) => all.find(({ method }) => method === "initialize").params.capabilities;
    assert.deepEqual(capabilitiesOf(await messages(server)).roots, { listChanged: true });
    const without = await connected(t, stdio());
    assert.equal(capabilitiesOf(await messages(without)).roots, undefined);
    assert.deepEqual((await without.ask("ask-roots")).result, { roots: [] });
  });

  it("a function that fails refuses the question", async (t) => {
    const roots = () => {
      throw new Error("no idea");
    };
    const { ask } = await connected(t, stdio([], { roots }));
    assert.match((await ask("ask-roots")).error.message, /no idea/);
  });
});

describe("environment", { timeout: 60_000 }, () => {
  it("environment: inherit gives the child everything, minimal the safe part", async (t) => {
    process.env.OPERATIONS_TEST_HOST = "host";
    t.after(() => delete process.env.OPERATIONS_TEST_HOST);
    const seen = async (more) => {
      const { ask } = await connected(t, stdio([], more));
      return (await ask("about-me")).env.OPERATIONS_TEST_HOST;
    };
    assert.equal(await seen({ environment: "inherit" }), "host");
    assert.equal(await seen({ inheritEnv: true }), "host");
    assert.equal(await seen({ environment: "minimal", inheritEnv: true }), undefined);
    assert.equal(await seen({}), undefined);
    const error = await failure(connected(t, stdio([], { environment: "all" })));
    assert.match(error.message, /environment must be "minimal" or "inherit"/);
  });
});

describe("an answer that is not JSON", { timeout: 60_000 }, () => {
  it("an answer that is not JSON fails its call at once", async (t) => {
    const { call } = await connected(t, stdio(["malformed-results"], { timeout: 30_000_000 }));
    const error = await failure(call("echo", { text: "x" }));
    assert.equal(error.details.reason, "odd-answer");
    assert.match(error.message, /is not JSON/);
  });
});
