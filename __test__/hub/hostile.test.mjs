// Spokes that mean harm: they speak for the calls of others, and ask for more than they read.

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, describe, it } from "node:test";
import { WebSocketServer } from "ws";
import { bareSocket, deferred, eventually, hubOf, operation, spokeOf } from "./support.mjs";

const offered = (name) => ({
  namespace: "x",
  name,
  type: "query",
  version: "1",
  description: name,
  inputSchema: {},
  outputSchema: {},
});

describe("a hostile spoke", () => {
  it("cannot answer the call of somebody else, whose id it was told", async () => {
    const mayEnd = deferred();
    const { registry, address, url } = await hubOf(
      [
        operation({
          namespace: "bank",
          name: "balance",
          handler: async (_, context) => {
            await registry.execute("mallory.rate", {}, context);
            await mayEnd.promise;
            return { of: "the bank" };
          },
        }),
        operation({ namespace: "open", name: "echo", handler: (input) => input }),
      ],
      { hub: { accept: ({ name }) => ({ namespace: name }) } },
    );
    const mallory = await bareSocket(`${address}?name=mallory`);
    mallory.send("hub.offer", { operations: [offered("rate")] }, "1");
    await mallory.until(({ type }) => type === "hub.accepted");
    const answer = fetch(`${url}/api/bank/balance`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    const { payload } = await mallory.until(({ type }) => type === "call.requested");
    const meta = { source: "local", operationId: "bank.balance", timestamp: 1 };
    const forged = JSON.stringify({ data: { of: "mallory" }, meta });
    for (const requestId of [
      `a\n${payload.parentRequestId}\t${forged}\nb`,
      `${payload.parentRequestId}\t${forged}`,
    ]) {
      mallory.send("call.requested", { requestId, operationId: "open.echo", input: {} });
    }
    // What follows them is answered: by then, they were looked at.
    await mallory.call("open.echo", {});
    mallory.send("call.responded", { requestId: payload.requestId, output: { data: 1, meta } });
    mayEnd.resolve();
    assert.deepEqual(await (await answer).json(), { of: "the bank" });
  });

  it("is told when it asks more questions than are worked on at a time", async () => {
    const { address } = await hubOf([
      operation({ namespace: "a", name: "b", description: "d".repeat(300_000) }),
    ]);
    const mallory = await bareSocket(address);
    mallory.socket.pause();
    for (let id = 0; id < 200; id += 1) mallory.send("hub.discover", {}, String(id));
    // Written before it reads on, so that nothing that it asked for has left the hub.
    await eventually(() => mallory.socket.bufferedAmount === 0);
    mallory.socket.resume();
    const answers = () =>
      mallory.frames.filter(({ type }) => type === "hub.operations" || type === "hub.error");
    await eventually(() => answers().length === 200);
    const refused = answers().filter(({ type }) => type === "hub.error");
    assert.ok(refused.length > 0, "some are refused");
    for (const { payload } of refused) assert.equal(payload.details.reason, "overloaded");
    // When those are answered, others are.
    mallory.send("hub.discover", {}, "later");
    const { payload } = await mallory.until(({ id }) => id === "later");
    assert.equal(payload.operations.length, 1);
  });

  it("offers nothing whose name would break a line or hide what it is", async () => {
    const { registry, address } = await hubOf([], { hub: { accept: ({ name }) => ({ namespace: name }) } });
    const mallory = await bareSocket(`${address}?name=mallory`);
    const names = ["a\nb", "nul\u0000", "\u202Eeval", "\ud800", "n".repeat(257), "grüße", "good"];
    mallory.send("hub.offer", { operations: names.map(offered) }, "1");
    const { payload } = await mallory.until(({ type }) => type === "hub.accepted");
    assert.deepEqual(payload.operations, ["mallory.grüße", "mallory.good"]);
    assert.equal(registry.list().length, 2);
  });

  it("that offers much does not keep everybody else waiting", async () => {
    const { registry, address } = await hubOf([], { hub: { accept: ({ name }) => ({ namespace: name }) } });
    const mallory = await bareSocket(`${address}?name=mallory`);
    const inputSchema = {
      type: "object",
      properties: Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`p${i}`, { type: "string" }])),
    };
    const operations = Array.from({ length: 300 }, (_, i) => ({ ...offered(`o${i}`), inputSchema }));
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 1);
    mallory.send("hub.offer", { operations }, "1");
    await mallory.until(({ type }) => type === "hub.accepted");
    clearInterval(counting);
    assert.equal(registry.list().length, 300);
    // The loop turned while the schemas were compiled, and not only before and after.
    assert.ok(turns > 3, `${turns} turns`);
  });
});

describe("a hostile hub", () => {
  it("cannot make discover fail with something else than an answer", async () => {
    const server = new WebSocketServer({
      port: 0,
      host: "127.0.0.1",
      handleProtocols: () => "operations.v1",
    });
    after(() => server.close());
    await once(server, "listening");
    const lists = ['[[1],{"a":[2]}]', "[[[]]]", '[{"namespace":"a","name":"b","type":"query"},[7]]'];
    server.on("connection", (socket) => {
      socket.on("message", (data) => {
        const { type, id } = JSON.parse(String(data));
        if (type !== "hub.discover") return;
        socket.send(`{"type":"hub.operations","id":"${id}","payload":{"operations":${lists.shift()}}}`);
      });
    });
    const spoke = await spokeOf(`ws://127.0.0.1:${server.address().port}`);
    const names = async () => (await spoke.discover()).operations.map(({ name }) => name);
    assert.deepEqual(await names(), []);
    assert.deepEqual(await names(), []);
    assert.deepEqual(await names(), ["b"]);
  });
});
