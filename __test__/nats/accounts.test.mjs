// Accounts of the broker with few permissions, and servers that are not there.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { OperationRegistry, unwrap } from "@alkdev/operations";
import { connectNats } from "@alkdev/operations/transport-nats";
import { startNats } from "../support/brokers.mjs";
import { query, skip } from "./support.mjs";

/** The table of `docs/guides/scaling-out.md`. */
const CONFIG = `authorization { users = [
  { user: caller, password: c, permissions: {
    publish: ["operations.call.t=2Eopen", "operations.who.t=2Eopen", "operations.peer.>", "operations.discover"]
    subscribe: ["operations.peer.>", "operations.hello"] } }
  { user: worker, password: w, permissions: {
    publish: ["operations.peer.>", "operations.hello"]
    subscribe: ["operations.peer.>", "operations.hello", "operations.discover", "operations.call.>", "operations.who.>"] } }
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

  async function connect(user, password) {
    const connection = await connectNats({ servers: broker.url, name: user, auth: { user, password } });
    open.push(connection);
    return connection;
  }
  function registry() {
    const registry = new OperationRegistry();
    registry.registerAll([query("open", (input) => input), query("closed", (input) => input)]);
    return registry;
  }

  it("calls what it may, is told what it may not, and knows that it was not carried out", async () => {
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
  });

  it("cannot serve what it may not subscribe to, and serve() says so", async () => {
    const connection = await connect("caller", "c");
    await assert.rejects(connection.serve(registry()), (error) => {
      assert.equal(error.code, "ACCESS_DENIED");
      assert.match(error.details.subject, /^operations\.(call|who)\.t=2E/);
      return true;
    });
  });
});

describe("a server that is not there yet", { skip, timeout: 60_000 }, () => {
  it("is waited for on request; calls wait too, up to maxWaiting", async () => {
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
