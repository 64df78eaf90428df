// Accounts of the broker with few permissions, and servers that are not there.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { OperationRegistry, unwrap } from "@alkdev/operations";
import { connectNats } from "@alkdev/operations/transport-nats";
import { connect as connectRaw } from "nats";
import { startNats } from "../support/brokers.mjs";
import { query, skip, until } from "./support.mjs";

/** The tables of `docs/guides/scaling-out.md`: without inboxes, and with one for each account. */
const subjects = (...names) => JSON.stringify(names.map((name) => `operations.${name}`));
const caller = (user, { to, from }) => `{ user: ${user}, password: c, permissions: {
  publish: ${subjects("call.t=2Eopen", "who.t=2Eopen", to, "discover")}
  subscribe: ${subjects(from, "hello")} } }`;
const worker = (user, inbox) => `{ user: ${user}, password: w, permissions: {
  publish: ${subjects("peer.>", "hello")}
  subscribe: ${subjects(inbox, "hello", "discover", "call.>", "who.>")} } }`;
const CONFIG = `authorization { users = [
  ${caller("caller", { to: "peer.>", from: "peer.>" })}
  ${worker("worker", "peer.>")}
  ${caller("alice", { to: "peer.workers.>", from: "peer.alice.>" })}
  ${caller("bob", { to: "peer.workers.>", from: "peer.bob.>" })}
  ${worker("bound", "peer.workers.>")}
] }\n`;

describe("an account with few permissions", { skip, timeout: 60_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "operations-nats-accounts-"));
  const open = [];
  let broker;
  before(async () => {
    const config = join(folder, "accounts.conf");
    writeFileSync(config, CONFIG);
    broker = await startNats({ args: ["--config", config] });
  });
  after(async () => {
    await Promise.all(open.map((connection) => connection.close({ drain: 0 })));
    await broker?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function connect(user, password, options = {}) {
    const connection = await connectNats({
      servers: broker.url,
      name: user,
      auth: { user, password },
      ...options,
    });
    open.push(connection);
    return connection;
  }
  function registry() {
    const registry = new OperationRegistry();
    registry.registerAll([query("open", (input) => input), query("closed", (input) => input)]);
    return registry;
  }

  it("an account with few permissions can call what it may, and knows that a refused call was not carried out", async () => {
    const worker = await connect("worker", "w");
    await worker.serve(registry());
    const { callMap, discover } = await connect("caller", "c");
    const calls = Array.from({ length: 500 }, (_, i) => callMap.call("t.open", i));
    assert.deepEqual((await Promise.all(calls)).map(unwrap), [...calls.keys()]);
    await assert.rejects(callMap.call("t.closed", 1), {
      code: "ACCESS_DENIED",
      details: { operationId: "t.closed", reason: "forbidden", delivery: "none" },
    });
    assert.equal(callMap.getPendingCount(), 0);
    const { workers } = await discover();
    assert.deepEqual(
      workers.map(({ name }) => name),
      ["worker"],
    );
    await worker.close();
  });

  it("with inboxes, calls and streams work, and no account reads or forges the responses of another", async () => {
    const open = new OperationRegistry();
    const held = [];
    open.register(query("open", (input) => new Promise((resolve) => held.push(() => resolve(input)))));
    const bound = await connect("bound", "w", { inbox: "workers" });
    await bound.serve(open, { concurrency: 1 });
    const bob = await connect("bob", "c", { inbox: "bob" });
    assert.match(bob.id, /^bob\.[0-9a-f]{32}$/);
    // The second one waits for a place, which is promised to it through its inbox.
    const calls = [1, 2].map((n) => bob.callMap.call("t.open", n));
    await until(() => held.length === 1);

    const alice = await connectRaw({ servers: broker.url.slice("nats://".length), user: "alice", pass: "c" });
    const problems = [];
    (async () => {
      for await (const { type, data } of alice.status()) if (type === "error") problems.push(String(data));
    })();
    const overheard = [];
    alice.subscribe("operations.peer.bob.>", { callback: (error) => overheard.push(error?.code) });
    alice.publish(`operations.peer.${bob.id}.note`, JSON.stringify({ type: "nats.hello", from: "alice.x" }));
    await until(() => overheard.length > 0 && problems.length > 0);
    assert.deepEqual(overheard, ["PERMISSIONS_VIOLATION"]);
    assert.equal(bob.stats().malformed, 0);
    await alice.close();

    for (const at of [0, 1]) {
      await until(() => held.length > at);
      held[at]();
    }
    assert.deepEqual((await Promise.all(calls)).map(unwrap), [1, 2]);
    const { workers } = await bob.discover();
    assert.equal(workers.find(({ name }) => name === "bound").id, bound.id);
    // Who leaves is noticed in its inbox too.
    const third = assert.rejects(bob.callMap.call("t.open", 3), { code: "EXECUTION_ERROR" });
    await until(() => held.length === 3);
    await bob.close({ drain: 0 });
    await third;
    await until(() => bound.stats().running === 0);
    await bound.close({ drain: 0 });
  });

  it("an inbox that cannot be part of a subject is refused", async () => {
    for (const inbox of ["", "a.b", "*", "a b"]) {
      await assert.rejects(connect("bob", "c", { inbox }), { code: "VALIDATION_ERROR", message: /inbox/ });
    }
  });

  it("serve() fails if the account may not subscribe to what it serves", async () => {
    const connection = await connect("caller", "c");
    await assert.rejects(connection.serve(registry()), (error) => {
      assert.equal(error.code, "ACCESS_DENIED");
      assert.match(error.details.subject, /^operations\.(call|who)\.t=2E/);
      return true;
    });
  });
});

describe("a server that is not there yet", { skip, timeout: 60_000 }, () => {
  it("a NATS server that is not up yet is awaited on request; calls wait too, up to maxWaiting", async () => {
    const broker = await startNats();
    await broker.kill();
    await assert.rejects(connectNats({ servers: broker.url, name: "n" }), { code: "EXECUTION_ERROR" });
    const { callMap, serve, close } = await connectNats({
      servers: broker.url,
      name: "n",
      waitOnFirstConnect: true,
      maxWaiting: 2,
    });
    try {
      const waiting = [callMap.call("t.echo", 1), callMap.call("t.echo", 2)];
      await assert.rejects(callMap.call("t.echo", 3), {
        code: "EXECUTION_ERROR",
        details: { operationId: "t.echo", reason: "overloaded", delivery: "none" },
      });
      const registry = new OperationRegistry();
      registry.register(query("echo", (input) => input));
      const serving = serve(registry);
      await broker.start();
      await serving;
      assert.deepEqual((await Promise.all(waiting)).map(unwrap), [1, 2]);
    } finally {
      await close({ drain: 0 });
      await broker.stop();
    }
  });
});
