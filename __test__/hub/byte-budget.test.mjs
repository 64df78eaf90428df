// What a hub holds in memory for its connections counts together with what its other doors hold.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { unread } from "../serve/support.mjs";
import {
  bareSocket,
  deferred,
  eventually,
  hubOf,
  operation,
  registryOf,
  spokeOf,
  subscription,
} from "./support.mjs";

const MB = 1024 * 1024;
const refusal = ({ type, payload }) =>
  type === "call.error" ? [payload.details.reason, payload.details.delivery] : undefined;

/** A subscription to large events, which begin when all subscribers are there, and how many of them have begun and ended. */
function flood() {
  const counted = { begun: 0, ended: 0, go: deferred() };
  counted.operation = subscription({
    namespace: "demo",
    name: "flood",
    handler: async function* () {
      counted.begun += 1;
      await counted.go.promise;
      try {
        for (;;) yield "x".repeat(MB);
      } finally {
        counted.ended += 1;
      }
    },
  });
  return counted;
}

const as = (token) => ({ headers: { authorization: `Bearer ${token}` } });

describe("calls of a caller that wait", () => {
  it("large calls of a hub are refused beyond a number of bytes, however many connections they come over", async () => {
    const go = deferred();
    const wait = operation({ namespace: "demo", name: "wait", handler: () => go.promise });
    const { address } = await hubOf([wait], { concurrency: 1, maxBufferedBytes: 8 * MB + 100 });
    const sockets = [];
    for (let i = 0; i < 3; i++) sockets.push(await bareSocket(`${address}?name=ada${i}`, as("ada")));
    const refused = [];
    const input = "x".repeat(MB);
    const calls = sockets.flatMap((socket) =>
      Array.from({ length: 4 }, async () => {
        const frame = await socket.call("demo.wait", input);
        if (frame.type === "call.error") refused.push(refusal(frame));
        return frame;
      }),
    );
    // Half of the bytes, so that something is left for others. Their quotes count, too.
    await eventually(() => refused.length === 8, "eight calls are refused");
    const bob = await bareSocket(`${address}?name=bob`, as("bob"));
    const other = bob.call("demo.wait", input);
    for (const each of refused) assert.deepEqual(each, ["overloaded", "none"]);
    go.resolve("done");
    const types = (await Promise.all(calls)).map(({ type }) => type);
    assert.equal(types.filter((type) => type === "call.responded").length, 4);
    assert.equal((await other).type, "call.responded");
    assert.equal((await sockets[0].call("demo.wait", input)).type, "call.responded");
  });

  it("callers with large calls at a hub leave room for small calls of others", async () => {
    const go = deferred();
    const wait = operation({ namespace: "demo", name: "wait", handler: () => go.promise });
    const names = Array.from({ length: 8 }, (_, at) => `caller${at}`);
    const tokens = Object.fromEntries([...names, "late"].map((id) => [id, { id, scopes: [] }]));
    const { address } = await hubOf([wait], { tokens, maxBufferedBytes: 8 * MB });
    const outcomes = [];
    for (const name of names) {
      const { call } = await bareSocket(`${address}?name=${name}`, as(name));
      let refused = false;
      while (!refused) {
        const outcome = call("demo.wait", "x".repeat(1.5 * MB));
        outcomes.push(outcome);
        // In order: what is asked later is answered when it is known whether the call was refused.
        refused = await Promise.race([outcome.then(() => true), call("demo.none", {}).then(() => false)]);
      }
    }
    const late = await bareSocket(`${address}?name=late`, as("late"));
    const small = late.call("demo.wait", "x".repeat(1_000));
    await late.call("demo.none", {});
    go.resolve("done");
    assert.equal((await small).type, "call.responded");
    const types = (await Promise.all(outcomes)).map(({ type }) => type);
    assert.ok(types.filter((type) => type === "call.responded").length * 1.5 <= 8, types.join());
  });
});

describe("messages that are not complete", () => {
  it("unfinished messages of a caller are bounded in bytes, however many connections they come over", async () => {
    const echo = operation({ namespace: "demo", name: "echo", handler: (input) => input.length });
    const { address } = await hubOf([echo], { maxBufferedBytes: 8 * MB });
    const sockets = [];
    for (let i = 0; i < 6; i++) sockets.push(await bareSocket(`${address}?name=ada${i}`, as("ada")));
    for (const { socket } of sockets) socket.send("x".repeat(1.5 * MB), { fin: false });
    const { code, reason } = await Promise.race(sockets.map(({ closed }) => closed));
    assert.equal(code, 1013, reason);
    assert.match(reason, /too many bytes/);
    const bob = await bareSocket(`${address}?name=bob`, as("bob"));
    assert.equal((await bob.call("demo.echo", "x".repeat(MB))).payload.output.data, MB);
  });

  it("a message that is not complete in time ends its connection, although the client answers pings", async () => {
    const { address } = await hubOf([], { requestTimeout: 2_000, hub: { heartbeat: 700 } });
    const { socket, closed } = await bareSocket(address);
    socket.send("x", { fin: false });
    const drip = setInterval(() => socket.send("x", { fin: false }), 20);
    const { code, reason } = await closed;
    clearInterval(drip);
    assert.equal(code, 1008, reason);
    assert.match(reason, /not complete in time/);
  });
});

describe("connections on which nothing happens", () => {
  it("an open connection keeps no memory for the large messages that it has sent and received", async () => {
    const file = fileURLToPath(new URL("hub-process.mjs", import.meta.url));
    const child = spawn(process.execPath, ["--expose-gc", file], { stdio: ["ignore", "pipe", "inherit"] });
    after(() => child.kill("SIGKILL"));
    const [address] = (await once(child.stdout, "data")).map(String);
    const first = await bareSocket(address);
    const memory = async () => (await first.call("demo.memory", {})).payload.output.data;
    const before = await memory();
    for (let i = 0; i < 100; i++) {
      const { call } = await bareSocket(address);
      assert.equal((await call("demo.size", "x".repeat(3 * MB))).payload.output.data, 3 * MB);
      assert.equal((await call("demo.text", 3 * MB)).payload.output.data.length, 3 * MB);
    }
    // 600 MB, if each of them kept one message that was read, and one that was written.
    const grown = (await memory()) - before;
    assert.ok(grown < 200 * MB, `${Math.round(grown / MB)} MB more than before`);
  });
});

describe("events that are not read", () => {
  it("unread events of a hub's subscriptions are bounded in bytes, however many connections they are for", async () => {
    const events = flood();
    const { address } = await hubOf([events.operation], { maxBufferedBytes: 16 * MB });
    const sockets = [];
    for (let i = 0; i < 10; i++) {
      const each = await bareSocket(`${address}?name=ada${i}`, as("ada"));
      each.socket.pause();
      for (let j = 0; j < 10; j++) void each.call("demo.flood", {});
      sockets.push(each);
    }
    await eventually(() => events.begun === 100, "all have subscribed");
    events.go.resolve();
    await eventually(() => events.ended >= 85, "most subscriptions are ended");
    sockets[9].socket.resume();
    const error = await sockets[9].until(({ type }) => type === "call.error");
    assert.equal(refusal(error)[0], "overloaded");
  });

  it("events of a spoke that wait for clients of the hub are bounded in bytes", async () => {
    const events = flood();
    const accept = () => ({ namespace: "far" });
    const { address, url } = await hubOf([], { maxBufferedBytes: 16 * MB, hub: { accept } });
    const spoke = await spokeOf(address, { token: "ada" });
    await spoke.serve(registryOf(events.operation));
    for (let i = 0; i < 20; i++) unread(url, "/api/far/flood");
    await eventually(() => events.begun === 20, "all have subscribed");
    events.go.resolve();
    await eventually(() => events.ended >= 8, "most subscriptions are ended");
  });
});

describe("answers that a connection does not read", () => {
  it("unread answers of a hub are refused beyond a number of bytes, and leave others alone", async () => {
    let ran = 0;
    const large = operation({
      namespace: "demo",
      name: "large",
      handler: () => {
        ran += 1;
        return "x".repeat(3 * MB);
      },
    });
    const { address, url } = await hubOf([large], { maxBufferedBytes: 24 * MB });
    const ada = await bareSocket(`${address}?name=ada`, as("ada"));
    ada.socket.pause();
    const count = 60;
    const calls = Array.from({ length: count }, () => ada.call("demo.large", {}));
    const post = (token) =>
      fetch(`${url}/api/demo/large`, {
        method: "POST",
        headers: { "content-type": "application/json", ...as(token).headers },
        body: "{}",
      });
    await eventually(async () => (await post("ada")).status === 503, "the share of the caller is used up");
    assert.equal((await post("bob")).status, 200);
    ada.socket.resume();
    const frames = await Promise.all(calls);
    const refused = frames.filter(({ type }) => type === "call.error");
    assert.ok(refused.length > 0 && refused.length < count, `${refused.length} are refused`);
    for (const each of refused) assert.equal(refusal(each)[0], "overloaded");
    assert.ok(ran > 0);
  });
});
