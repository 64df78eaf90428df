// A hub, spokes and callers in processes of their own, and what is left when one of them is killed.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runModule } from "../support/run-node.mjs";
import { bareSocket, eventually, failureOf, hubOf, operation, spokeOf, spokeProcess } from "./support.mjs";

const byName = { hub: { accept: (spoke) => ({ namespace: spoke.name }) } };

describe("processes", () => {
  it("three spokes and two callers in processes of their own reach each other through a hub", async () => {
    const { address, registry } = await hubOf([], byName);
    const names = ["one", "two", "three"];
    const spokes = await Promise.all(names.map((name) => spokeProcess(address, name)));
    await eventually(() => names.every((name) => registry.get(`${name}.pid`) !== undefined));
    const callers = await Promise.all([spokeOf(address, { name: "a" }), spokeOf(address, { name: "b" })]);
    for (const caller of callers) {
      const answers = await Promise.all(names.map((name) => caller.callMap.call(`${name}.pid`, {})));
      assert.deepEqual(
        answers.map(({ data }) => data),
        spokes.map(({ pid }) => pid),
      );
      const counted = [];
      for await (const { data } of caller.callMap.subscribe("two.count", { to: 1000 })) counted.push(data);
      assert.equal(counted.length, 1000);
    }
    for (const spoke of spokes) spoke.kill("SIGKILL");
    await eventually(() => names.every((name) => registry.get(`${name}.pid`) === undefined));
  });

  it("a spoke that is killed in mid-call fails its calls, and no others", async () => {
    const { address, registry } = await hubOf([], byName);
    const [victim, survivor] = await Promise.all([
      spokeProcess(address, "victim"),
      spokeProcess(address, "survivor"),
    ]);
    await eventually(
      () => registry.get("victim.hang") !== undefined && registry.get("survivor.pid") !== undefined,
    );
    const caller = await spokeOf(address, { name: "caller" });
    const failing = failureOf(caller.callMap.call("victim.hang", {}));
    const direct = failureOf(registry.execute("victim.hang", {}));
    await eventually(() => victim.said.join("").split("hanging").length > 2);
    victim.kill("SIGKILL");
    for (const error of [await failing, await direct]) {
      assert.equal(error.code, "EXECUTION_ERROR");
      assert.equal(error.details.reason, "peer-lost");
      assert.equal(error.details.delivery, "unknown");
    }
    assert.equal((await caller.callMap.call("survivor.pid", {})).data, survivor.pid);
    await eventually(() => registry.get("victim.hang") === undefined);
    const again = await spokeProcess(address, "victim");
    await eventually(() => registry.get("victim.pid") !== undefined);
    assert.equal((await caller.callMap.call("victim.pid", {})).data, again.pid);
    again.kill("SIGKILL");
    survivor.kill("SIGKILL");
  });

  it("a thousand spokes are connected to one hub", async () => {
    const echo = operation({ namespace: "demo", name: "echo" });
    const { address, served, spokes } = await hubOf([echo]);
    const all = await Promise.all(
      Array.from({ length: 1_000 }, (_, n) => spokeOf(address, { name: `spoke ${n}` })),
    );
    await eventually(() => spokes.list().length === 1_000);
    assert.equal(served.stats().connections >= 1_000, true);
    const answers = await Promise.all(all.map((spoke, n) => spoke.callMap.call("demo.echo", n)));
    assert.ok(answers.every(({ data }, n) => data === n));
    await Promise.all(all.map((spoke) => spoke.close()));
    await eventually(() => spokes.list().length === 0);
  });
});

describe("a spoke that does not behave", () => {
  it("a spoke that floods the hub with calls and reads no responses is ended without harm to others", async () => {
    const blob = "x".repeat(64 * 1024);
    const large = operation({ namespace: "demo", name: "large", handler: () => blob });
    const { address } = await hubOf([large]);
    const flood = await bareSocket(address);
    flood.socket.pause();
    let sent = 0;
    while (flood.socket.readyState === 1 && sent < 20_000) {
      for (let n = 0; n < 500; n++) {
        sent += 1;
        flood.send("call.requested", { requestId: `f${sent}`, operationId: "demo.large", input: {} });
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const caller = await spokeOf(address, { name: "caller", token: "ada" });
    assert.equal((await caller.callMap.call("demo.large", {})).data.length, blob.length);
    flood.socket.resume();
    flood.socket.terminate();
    await flood.closed;
  });
});

describe("a program that only imports from a hub", { timeout: 60_000 }, () => {
  it("goes on after its second import, which waits a little after the first", async () => {
    // Enough of them that the rest after an import is longer than the hub needs to answer.
    const { address } = await hubOf(
      Array.from({ length: 500 }, (_, index) => operation({ namespace: "many", name: `n${index}` })),
    );
    const outcome = await runModule(
      `import { connectHub } from "@alkdev/operations/transport-websocket";
       const hub = await connectHub(${JSON.stringify(address)}, { name: "importer" });
       await hub.import();
       console.log((await hub.import()).length);
       await hub.close({ drain: 0 });`,
    );
    assert.deepEqual(outcome, { code: 0, signal: null, stdout: "500\n", stderr: "" });
  });
});
