// The broker's permissions bind: an account runs the operations on whose subjects it may publish, and no other, although
// every account may publish to the connections of workers.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { OperationRegistry, unwrap } from "@alkdev/operations";
import { connectNats } from "@alkdev/operations/transport-nats";
import { connect as connectRaw } from "nats";
import { startNats } from "../support/brokers.mjs";
import { query, skip, until } from "./support.mjs";

/** The first table of `docs/guides/scaling-out.md`, where accounts share `peer.>`, with a caller of nothing at all. */
const subjects = (...names) => JSON.stringify(names.map((name) => `operations.${name}`));
const account = (user, publish, subscribe) => `{ user: ${user}, password: p, permissions: {
  publish: ${subjects(...publish)}
  subscribe: ${subjects(...subscribe)} } }`;
const CONFIG = `authorization { users = [
  ${account("worker", ["peer.>", "hello"], ["peer.>", "hello", "discover", "call.>", "who.>"])}
  ${account("caller", ["call.t=2Eclosed", "who.t=2Eclosed", "peer.>", "discover"], ["peer.>", "hello"])}
  ${account("stranger", ["call.t=2Eopen", "who.t=2Eopen", "peer.>", "discover"], ["peer.>", "hello"])}
] }\n`;

describe("an account that may not publish on the subjects of an operation", { skip, timeout: 60_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "operations-nats-bound-"));
  const ending = [];
  let broker;
  before(async () => {
    const config = join(folder, "accounts.conf");
    writeFileSync(config, CONFIG);
    broker = await startNats({ args: ["--config", config] });
  });
  after(async () => {
    await Promise.all(ending.map((end) => end()));
    await broker?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function connect(user) {
    const connection = await connectNats({
      servers: broker.url,
      name: user,
      auth: { user, password: "p" },
    });
    ending.push(() => connection.close({ drain: 0 }));
    return connection;
  }

  /** Speaks the protocol by hand, and reads what is sent to every connection. */
  async function raw(user) {
    const connection = await connectRaw({
      servers: broker.url.slice("nats://".length),
      user,
      pass: "p",
    });
    ending.push(() => connection.close());
    const messages = [];
    const callbacks = new Set();
    connection.subscribe("operations.peer.>", {
      callback: (_, message) => {
        // The broker says with an empty message that somebody is not there.
        if (message.data.length === 0) return;
        const received = { subject: message.subject, ...JSON.parse(message.string()) };
        messages.push(received);
        for (const callback of callbacks) callback(received);
      },
    });
    await connection.flush();
    const send = (subject, message) => connection.publish(`operations.${subject}`, JSON.stringify(message));
    const request = (from, requestId, operationId, extra = {}) => ({
      type: "call.requested",
      id: "",
      payload: { requestId, operationId, input: {} },
      from,
      ...extra,
    });
    return { messages, callbacks, send, request, flush: () => connection.flush() };
  }

  async function worker(concurrency) {
    const ran = [];
    const registry = new OperationRegistry();
    registry.register(query("open", () => ran.push("open")));
    registry.register(query("closed", (input) => ran.push(input.by ?? "somebody")));
    const connection = await connect("worker");
    await connection.serve(registry, { concurrency });
    return { ran, id: connection.id, close: () => connection.close() };
  }

  /** Everything that was sent to a worker before is done with, and so is what follows from it. */
  async function processed({ send, messages }, worker) {
    send(`peer.${worker.id}.note`, { type: "nats.ping", from: "stranger", calls: [], serving: [] });
    await until(() =>
      messages.some(({ type, subject }) => type === "nats.pong" && subject.includes("stranger")),
    );
    messages.length = 0;
  }

  it("an account without permission for an operation is promised no permit for a request that was refused", async () => {
    const { ran, id, close } = await worker(4);
    const stranger = await raw("stranger");
    const inbox = `peer.${id}.call`;
    // Redeems whatever it is promised.
    stranger.callbacks.add(({ type, operation }) => {
      if (type === "nats.slots") stranger.send(inbox, stranger.request("stranger", "redeemed", operation));
    });
    for (const n of [1, 2, 3]) {
      stranger.send(inbox, stranger.request("stranger", `r${n}`, "t.closed", { more: 1_000 }));
    }
    await until(() => stranger.messages.filter(({ type }) => type === "nats.busy").length === 3);
    // A call that ends is when a place is given to whoever waits for one.
    const { callMap } = await connect("caller");
    for (let n = 0; n < 5; n++) unwrap(await callMap.call("t.closed", { by: "caller" }));
    await processed(stranger, { id });
    await processed(stranger, { id });
    assert.deepEqual(ran, Array(5).fill("caller"));
    await close();
  });

  it("an account cannot use a permit of an operation that it may call for one that it may not call", async () => {
    const { ran, id, close } = await worker(4);
    const stranger = await raw("stranger");
    stranger.send("who.t=2Eopen", { type: "nats.who", from: "stranger", operation: "t.open", count: 1 });
    await until(() => stranger.messages.some(({ type }) => type === "nats.slots"));
    stranger.send(`peer.${id}.call`, stranger.request("stranger", "r1", "t.closed"));
    await until(() => stranger.messages.some(({ type }) => type === "nats.busy"));
    await processed(stranger, { id });
    assert.deepEqual(ran, []);
    await close();
  });

  it("an account cannot use a permit that was promised to another account, whose messages it reads", async () => {
    const { ran, id, close } = await worker(4);
    const caller = await raw("caller");
    const stranger = await raw("stranger");
    const key = "0123456789abcdef0123456789abcdef";
    caller.send("who.t=2Eclosed", { type: "nats.who", from: "victim", operation: "t.closed", count: 2, key });
    await until(() => stranger.messages.some(({ type }) => type === "nats.slots"));
    const { place } = stranger.messages.find(({ type }) => type === "nats.slots");
    const inbox = `peer.${id}.call`;
    const request = (requestId, by, extra) => {
      const made = caller.request("victim", requestId, "t.closed", extra);
      made.payload.input = { by };
      return made;
    };
    const attempts = [
      {},
      { place },
      { place, proof: "0".repeat(32) },
      { place: place + 1, proof: "" },
      { place: 0, proof: key },
    ];
    for (const [n, extra] of attempts.entries())
      stranger.send(inbox, request(`forged${n}`, "stranger", extra));
    await until(
      () => stranger.messages.filter(({ type }) => type === "nats.busy").length === attempts.length,
    );
    assert.deepEqual(ran, []);
    // The caller itself proves that it knows the key, which only workers of the operation could read.
    const made = request("r1", "caller");
    const signed = `${id}\n${place}\n${JSON.stringify(made.payload)}`;
    const proof = createHmac("sha256", key).update(signed).digest("hex").slice(0, 32);
    caller.send(inbox, { ...made, place, proof });
    await caller.flush();
    await until(() => ran.length > 0);
    // What the stranger has read is good for nothing, although a second place is promised.
    stranger.send(inbox, { ...made, place, proof });
    stranger.send(inbox, { ...made, place: place + 1, proof });
    const changed = request("r1", "stranger");
    stranger.send(inbox, { ...changed, place: place + 1, proof });
    await processed(stranger, { id });
    await processed(stranger, { id });
    assert.deepEqual(ran, ["caller"]);
    await close();
  });

  it("refused requests of one account do not make a permitted caller wait: a busy worker serves all of its calls", async () => {
    const { ran, close } = await worker(1);
    const { callMap } = await connect("caller");
    await Promise.all(Array.from({ length: 200 }, () => callMap.call("t.closed", { by: "caller" })));
    assert.equal(ran.length, 200);
    await close();
  });
});
