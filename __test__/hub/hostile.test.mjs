// Spokes that mean harm: they speak for the calls of others, and ask for more than they read.

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, describe, it } from "node:test";
import { deflateRawSync } from "node:zlib";
import { WebSocketServer } from "ws";
import {
  bareSocket,
  deferred,
  eventually,
  failureOf,
  hubOf,
  operation,
  registryOf,
  spokeOf,
} from "./support.mjs";

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
  it("a hostile spoke cannot respond to another spoke's call, whose id it knows", async () => {
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

  it("a call and a subscription of a spoke that answers with a malformed envelope fail, and the spoke's stream is ended", async () => {
    const { registry, address } = await hubOf([], { hub: { accept: ({ name }) => ({ namespace: name }) } });
    const mallory = await bareSocket(`${address}?name=mallory`);
    mallory.send(
      "hub.offer",
      { operations: [offered("rate"), { ...offered("rates"), type: "subscription" }] },
      "1",
    );
    await mallory.until(({ type }) => type === "hub.accepted");
    const answerTo = async (operationId) => {
      const isAsked = ({ type, payload }) => type === "call.requested" && payload.operationId === operationId;
      const { requestId } = (await mallory.until(isAsked)).payload;
      const meta = { source: "local", operationId, timestamp: 1, notes: 5 };
      mallory.send("call.responded", { requestId, output: { data: 1, meta } });
      return requestId;
    };
    const wrong = { code: "EXECUTION_ERROR", message: /does not follow the call protocol/ };
    const call = registry.execute("mallory.rate", {});
    await answerTo("x.rate");
    await assert.rejects(call, wrong);
    const event = registry.subscribe("mallory.rates", {}).next();
    const requestId = await answerTo("x.rates");
    await assert.rejects(event, wrong);
    await mallory.until(({ type, payload }) => type === "call.aborted" && payload.requestId === requestId);
  });

  it("a spoke that sends more requests than are handled at a time gets an error", async () => {
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

  it("a hostile spoke cannot offer a name with control or invisible characters", async () => {
    const { registry, address } = await hubOf([], { hub: { accept: ({ name }) => ({ namespace: name }) } });
    const mallory = await bareSocket(`${address}?name=mallory`);
    const names = ["a\nb", "nul\u0000", "\u202Eeval", "\ud800", "n".repeat(257), "grüße", "good"];
    mallory.send("hub.offer", { operations: names.map(offered) }, "1");
    const { payload } = await mallory.until(({ type }) => type === "hub.accepted");
    assert.deepEqual(payload.operations, ["mallory.grüße", "mallory.good"]);
    assert.equal(registry.list().length, 2);
  });

  it("a spoke that offers many operations does not delay others", async () => {
    let turns = 0;
    const count = () => {
      turns += 1;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    /** The turn of the event loop in which each operation was looked at. */
    const seen = [];
    const accessControl = () => {
      seen.push(turns);
      // As much work as one turn may have.
      const until = performance.now() + 12;
      while (performance.now() < until);
      return { requiredScopes: [] };
    };
    const { registry, address } = await hubOf([], {
      hub: { accept: ({ name }) => ({ namespace: name, accessControl }) },
    });
    const mallory = await bareSocket(`${address}?name=mallory`);
    const operations = Array.from({ length: 20 }, (_, i) => offered(`o${i}`));
    mallory.send("hub.offer", { operations }, "1");
    await mallory.until(({ type }) => type === "hub.accepted");
    clearImmediate(counting);
    assert.equal(registry.list().length, 20);
    assert.equal(new Set(seen).size, 20, "each has a turn of its own");
  });

  it("a spoke that offers more operations than the hub takes gets an error", async () => {
    const { registry, address } = await hubOf([], {
      hub: { accept: ({ name }) => ({ namespace: name }), maxOperations: 3 },
    });
    const many = (count) =>
      registryOf(...Array.from({ length: count }, (_, i) => operation({ namespace: "x", name: `o${i}` })));
    const spoke = await spokeOf(address, { name: "mallory" });
    const { message, details } = await failureOf(spoke.serve(many(4)));
    assert.match(message, /4 operations.*at most 3 \(maxOperations\)/);
    assert.equal(details.reason, "too-many-operations");
    assert.equal(details.limit, 3);
    assert.deepEqual(registry.list(), []);
    assert.equal((await spoke.serve(many(3))).operations.length, 3);
    assert.equal(registry.list().length, 3);
  });

  it("a hostile spoke cannot exhaust the hub's memory with endless offers", async () => {
    const page = { operations: [{ ...offered("large"), description: "d".repeat(4_000_000) }], more: true };
    for (const hub of [true, { accept: ({ name }) => ({ namespace: name }) }]) {
      const { address, spokes } = await hubOf([], { hub });
      // 32 MiB for each of them.
      const mallory = await bareSocket(`${address}?name=mallory`);
      for (let at = 0; at < 9; at += 1) mallory.send("hub.offer", page, `list ${at % 3}`);
      const { id, payload } = await mallory.until(({ type }) => type === "hub.error");
      assert.equal(payload.details.reason, "too-large");
      // The end of what was refused is not an offer.
      mallory.send("hub.offer", { operations: [offered("end")] }, id);
      mallory.send("hub.offer", { operations: [offered("small")] }, "small");
      await mallory.until((frame) => frame.type === "hub.accepted" && frame.id === "small");
      assert.deepEqual(
        spokes.list().flatMap((spoke) => spoke.offered.map(({ name }) => name)),
        ["small"],
      );
    }
  });

  it("a hostile spoke cannot exhaust the hub's memory with large events that are not read", async () => {
    const { address, spokes } = await hubOf([]);
    const mallory = await bareSocket(`${address}?name=mallory`);
    mallory.send("hub.hello", { protocol: 1 });
    await eventually(() => spokes.list().length === 1);
    const [spoke] = spokes.list();
    const events = spoke.callMap.subscribe("x.stream", {})[Symbol.asyncIterator]();
    const first = events.next();
    const { payload } = await mallory.until(({ type }) => type === "call.requested");
    const { requestId } = payload;
    const meta = { source: "local", operationId: "x.stream", timestamp: 1 };
    const output = { data: "z".repeat(1_000_000), meta };
    for (let at = 0; at < 30; at += 1) mallory.send("call.responded", { requestId, output });
    await first;
    await mallory.until(({ type, payload }) => type === "call.aborted" && payload.requestId === requestId);
    const error = await failureOf(
      (async () => {
        while (!(await events.next()).done);
      })(),
    );
    assert.match(error.message, /too slow/);
    assert.equal(error.details.maxWaitingBytes, 16 * 1024 * 1024);
  });

  it("a spoke that nests a frame too deeply gets an error, or is disconnected", async () => {
    const { address } = await hubOf([
      operation({ namespace: "open", name: "echo", handler: (input) => input }),
    ]);
    const mallory = await bareSocket(address);
    const deep = "[".repeat(600) + "]".repeat(600);
    mallory.socket.send(
      `{"type":"call.requested","id":"","payload":{"input":${deep},"requestId":"r","operationId":"open.echo"}}`,
    );
    const { type, payload } = await mallory.until(({ payload }) => payload?.requestId === "r");
    assert.equal(type, "call.error");
    assert.equal(payload.code, "VALIDATION_ERROR");
    assert.equal(payload.details.reason, "too-deep");
    assert.equal(payload.details.delivery, "none");
    assert.deepEqual((await mallory.call("open.echo", { n: 1 })).payload.output.data, { n: 1 });
    mallory.socket.send(deep);
    const { code, reason } = await mallory.closed;
    assert.equal(code, 1008);
    assert.match(reason, /nested too deeply/);
  });

  it("a compressed frame ends the connection, so that a compression bomb is never inflated", async () => {
    const { address } = await hubOf([]);
    // It offers compression, as browsers do. The hub does not take it up.
    const mallory = await bareSocket(address, { perMessageDeflate: true });
    assert.equal(mallory.socket.extensions, "");
    // 64 MiB of zeros, which deflate makes 64 KiB of, with RSV1 set. The mask is zero.
    const bomb = deflateRawSync(Buffer.alloc(64 * 1024 * 1024));
    const header = Buffer.alloc(14);
    header.set([0xc1, 0xff]);
    header.writeBigUInt64BE(BigInt(bomb.length), 2);
    mallory.socket._socket.write(Buffer.concat([header, bomb]));
    assert.equal((await mallory.closed).code, 1002);
    const other = await bareSocket(address);
    other.send("hub.ping", {}, "7");
    await other.until(({ type }) => type === "hub.pong");
  });
});

describe("a hostile hub", () => {
  it("a hostile hub cannot make discover fail with anything but a CallError", async () => {
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
