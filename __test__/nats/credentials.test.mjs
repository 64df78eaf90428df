// Credentials that are in a file, expire, and are renewed.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { OperationRegistry, unwrap } from "@alkdev/operations";
import { connectNats } from "@alkdev/operations/transport-nats";
import { startNats } from "../support/brokers.mjs";
import { startProxy } from "../support/proxy.mjs";
import { query, skip, until } from "./support.mjs";
import { makeOperator } from "./tokens.mjs";

const seconds = (fromNow) => Math.floor(Date.now() / 1000) + fromNow;

describe("a credentials file", { skip, timeout: 60_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "operations-nats-credentials-"));
  const operator = makeOperator();
  const credentialsFile = join(folder, "user.creds");
  let broker;
  let proxy;
  before(async () => {
    const config = join(folder, "operator.conf");
    writeFileSync(config, operator.config);
    broker = await startNats({ args: ["--config", config] });
    proxy = await startProxy(broker.port);
  });
  after(async () => {
    await proxy?.stop();
    await broker?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const connect = (auth) => connectNats({ servers: `nats://127.0.0.1:${proxy.port}`, name: "n", auth });

  it("a credentials file that expires causes few attempts, and is read again when it was renewed", async () => {
    writeFileSync(credentialsFile, operator.credentials(seconds(2)));
    const connection = await connect({ credentialsFile });
    try {
      const told = [];
      for (const event of ["connected", "disconnected", "reconnected", "closed"]) {
        connection.on(event, ({ state }) => told.push([event, state]));
      }
      const registry = new OperationRegistry();
      registry.register(query("echo", (input) => input));
      await connection.serve(registry);
      assert.equal(connection.status().state, "connected");
      assert.equal(unwrap(await connection.callMap.call("t.echo", 1)), 1);
      await until(() => told.length > 0);
      const [began, before] = [Date.now(), proxy.connections];
      // The first come quickly, and then one waits: ten in a row would otherwise take no time at all.
      await until(() => proxy.connections >= before + 10);
      assert.ok(Date.now() - began >= 1_500, `10 attempts in ${Date.now() - began} ms`);
      const { state, problem } = connection.status();
      assert.equal(state, "disconnected");
      assert.match(problem, /authoriz|authentic/i);
      const waiting = connection.callMap.call("t.echo", 2);
      writeFileSync(credentialsFile, operator.credentials(seconds(3600)));
      assert.equal(unwrap(await waiting), 2);
      assert.equal(connection.status().state, "connected");
      assert.equal(connection.status().problem, undefined);
      await connection.close({ drain: 0 });
      assert.equal(connection.status().state, "closed");
      // In its last second, a token may be good for one more connection.
      const events = told.map(([event]) => event);
      assert.equal(events.pop(), "closed");
      assert.deepEqual(
        events,
        events.map((_, i) => (i % 2 === 0 ? "disconnected" : "reconnected")),
      );
      assert.equal(events.at(-1), "reconnected");
    } finally {
      await connection.close({ drain: 0 });
    }
  });

  it("a credentials file that is missing or invalid is named, and nothing of it is shown", async () => {
    const missing = join(folder, "no.creds");
    await assert.rejects(connect({ credentialsFile: missing }), (error) => {
      assert.equal(error.code, "VALIDATION_ERROR");
      assert.ok(error.message.includes(missing) && /not found/.test(error.message), error.message);
      return true;
    });
    const strange = join(folder, "strange.creds");
    for (const text of ["hunter2", operator.credentials().replaceAll(/\nSU/g, "\nhunter2")]) {
      writeFileSync(strange, text);
      await assert.rejects(connect({ credentialsFile: strange }), (error) => {
        assert.equal(error.code, "VALIDATION_ERROR");
        assert.ok(error.message.includes(strange) && !error.message.includes("hunter2"), error.message);
        return true;
      });
    }
  });
});
