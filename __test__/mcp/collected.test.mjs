// Garbage collection takes what nobody uses, and nothing that somebody waits for.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createMCPClient, OperationRegistry } from "@alkdev/operations";
import { defer } from "./support/defer.mjs";
import { startsFile, until, untilDead } from "./support/processes.mjs";
import { connected, stdio } from "./support/servers.mjs";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc");

/** Collects garbage again and again until the test ends. */
function collectAllTheTime(test) {
  const timer = setInterval(collectGarbage, 20);
  defer(test, () => clearInterval(timer));
}

describe("while garbage is collected", () => {
  it("clients connect while garbage is collected", async (t) => {
    collectAllTheTime(t);
    const { call } = await connected(t, stdio(["ignores-discover"]));
    assert.equal((await call("echo", { text: "here" })).data[0].text, "here");
  });

  it("calls get responses during garbage collection, although nothing references the client", async (t) => {
    collectAllTheTime(t);
    const starts = startsFile(t);
    const config = stdio([], { env: { STARTS_FILE: starts.path } });
    const calls = (await createMCPClient("test", config)).tools
      .filter(({ name }) => name === "wait")
      .map(({ handler }) => handler({ steps: 5, pause: 60 }, {}));
    assert.equal((await calls[0]).data[0].text, "done after 5");
  });

  it("elicitations get responses while garbage is collected", async (t) => {
    collectAllTheTime(t);
    const onElicitation = () =>
      new Promise((resolve) => setTimeout(resolve, 300, { action: "accept", content: { name: "Ada" } }));
    const { ask } = await connected(t, stdio([], { onElicitation }));
    assert.equal((await ask("elicit")).result.content.name, "Ada");
  });

  it("a registry keeps the tools of a client alive", async (t) => {
    const starts = startsFile(t);
    const registry = new OperationRegistry();
    const config = stdio([], { env: { STARTS_FILE: starts.path } });
    registry.registerAll((await createMCPClient("test", config)).tools);
    for (let i = 0; i < 10; i++) {
      collectGarbage();
      assert.equal((await registry.execute("test.echo", { text: "here" }, {})).data[0].text, "here");
    }
    assert.equal(starts.pids("server").length, 1);
  });
});

it("a client that is no longer referenced ends its server", async (t) => {
  const starts = startsFile(t);
  const config = stdio(["family"], { env: { STARTS_FILE: starts.path } });
  await (async () => {
    await createMCPClient("test", config);
  })();
  const pids = await starts.family();
  await until(() => {
    collectGarbage();
    return starts.pids("end").length > 0;
  }, "the server sees the end of its input");
  await untilDead(pids);
});
