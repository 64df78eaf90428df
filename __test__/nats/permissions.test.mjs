// What somebody may do who can publish on some subjects and knows the protocol, but does not play by it.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { unwrap } from "@alkdev/operations";
import { connect } from "nats";
import { assertNoStalls } from "../support/event-loop.mjs";
import { query, skip, until, useNats } from "./support.mjs";

assertNoStalls();

/** Speaks the protocol by hand. */
async function stranger(broker, id = "stranger") {
  const raw = await connect({ servers: broker.url.slice("nats://".length) });
  const heard = [];
  raw.subscribe(`operations.peer.${id}.*`, {
    callback: (_, message) => heard.push(JSON.parse(message.string())),
  });
  const sendText = (subject, text) => raw.publish(`operations.${subject}`, text);
  const send = (subject, message) => sendText(subject, JSON.stringify(message));
  return {
    heard,
    sendText,
    send,
    ask: (subject, operationId, requestId) =>
      send(subject, {
        type: "call.requested",
        id: "",
        payload: { requestId, operationId, input: {} },
        from: id,
      }),
    end: () => raw.close(),
  };
}

describe("the subject of one operation", { skip, timeout: 60_000 }, () => {
  const nats = useNats();

  it("the subject of one operation reaches that operation and no other", async () => {
    const ran = [];
    const worker = await nats.worker([
      query("open", () => ran.push("open")),
      query("secret", () => ran.push("secret")),
    ]);
    const { ask, heard, end } = await stranger(nats.broker);
    ask("call.t=2Eopen", "t.secret", "r1");
    ask("call.t=2Eopen", "t.open", "r2");
    await until(() => heard.some(({ payload }) => payload?.requestId === "r2"));
    assert.deepEqual(ran, ["open"]);
    assert.equal(worker.stats().malformed, 1);
    await end();
  });

  it("the subject of one operation reserves permits for that operation and for no other", async () => {
    const worker = await nats.worker([query("seen", () => 1), query("hidden", () => 1)]);
    const { send, heard, end } = await stranger(nats.broker);
    const who = (operation) => ({ type: "nats.who", from: "stranger", operation, count: 1 });
    send("who.t=2Eseen", who("t.hidden"));
    send(`peer.${worker.id}.note`, who("t.hidden"));
    send("who.t=2Eseen", who("t.seen"));
    await until(() => heard.length > 0);
    assert.deepEqual(
      heard.map(({ type, operation }) => [type, operation]),
      [["nats.slots", "t.seen"]],
    );
    assert.equal(worker.stats().malformed, 2);
    await end();
  });
});

describe("a request with a number that JavaScript cannot hold", { skip, timeout: 60_000 }, () => {
  const nats = useNats();

  it("a request with a number that JavaScript cannot hold is refused, and does not run", async () => {
    const ran = [];
    await nats.worker([query("open", (input) => ran.push(input))]);
    const { sendText, heard, end } = await stranger(nats.broker);
    const payload = '{"requestId":"r1","operationId":"t.open","input":{"id":[9007199254740993]}}';
    sendText("call.t=2Eopen", `{"type":"call.requested","id":"","payload":${payload},"from":"stranger"}`);
    const isAnswer = ({ payload }) => payload?.requestId === "r1" && payload.code !== undefined;
    const { payload: error } = await until(() => heard.find(isAnswer));
    assert.equal(error.code, "VALIDATION_ERROR");
    assert.equal(error.details.errors[0].path, "/id/0");
    assert.deepEqual(ran, []);
    await end();
  });
});

describe("a request that goes straight to a worker", { skip, timeout: 60_000 }, () => {
  const nats = useNats();

  it("a direct request to a worker needs a permit that was promised for that operation", async () => {
    const ran = [];
    const worker = await nats.worker([query("a", () => ran.push("a")), query("b", () => ran.push("b"))]);
    const { ask, send, heard, end } = await stranger(nats.broker);
    const inbox = `peer.${worker.id}.call`;
    ask(inbox, "t.a", "r1");
    await until(() => heard.some(({ type, id }) => type === "nats.busy" && id === "r1"));
    send("who.t=2Ea", { type: "nats.who", from: "stranger", operation: "t.a", count: 1 });
    await until(() => heard.some(({ type }) => type === "nats.slots"));
    ask(inbox, "t.b", "r2");
    ask(inbox, "t.a", "r3");
    await until(() => heard.some(({ payload }) => payload?.requestId === "r3"));
    assert.deepEqual(ran, ["a"]);
    await end();
  });

  it("a direct request to a worker reaches nothing that was not announced", async () => {
    const ran = [];
    const worker = await nats.worker([query("announced", () => 1)], { prefix: "other" });
    worker.registry.register(query("later", () => ran.push("later")));
    const raw = await connect({ servers: nats.broker.url.slice("nats://".length) });
    const request = (operationId) =>
      JSON.stringify({
        type: "call.requested",
        id: "",
        payload: { requestId: "r", operationId, input: {} },
        from: "stranger",
      });
    raw.publish(`other.peer.${worker.id}.call`, request("t.later"));
    raw.publish("other.call.t=2Eannounced", request("t.later"));
    await until(() => worker.stats().malformed === 2);
    assert.deepEqual(ran, []);
    await raw.close();
  });
});

describe("promises of places", { skip, timeout: 60_000 }, () => {
  const nats = useNats();

  it("promised permits are half for one caller, and never the last one, so that others are served", async () => {
    const worker = await nats.worker([query("echo", (input) => input)], { concurrency: 4 });
    const greedy = await stranger(nats.broker, "greedy");
    const friend = await stranger(nats.broker, "friend");
    const want = ({ send }, from) =>
      send("who.t=2Eecho", { type: "nats.who", from, operation: "t.echo", count: 1_000_000 });
    want(greedy, "greedy");
    await until(() => greedy.heard.length > 0);
    want(friend, "friend");
    await until(() => friend.heard.length > 0);
    const promised = ({ heard }) => heard.map(({ count }) => count);
    assert.deepEqual([promised(greedy), promised(friend)], [[2], [1]]);
    const caller = await nats.connect();
    for (let i = 0; i < 5; i++) {
      want(greedy, "greedy");
      assert.equal(unwrap(await caller.callMap.call("t.echo", i)), i);
    }
    assert.equal(worker.stats().malformed, 0);
    await Promise.all([greedy.end(), friend.end()]);
  });
});
