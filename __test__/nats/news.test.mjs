// What those who operate workers and callers hear: states, events and log lines.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { configure, reset } from "@logtape/logtape";
import { startNats } from "../support/brokers.mjs";
import { query, skip, sleep, until, useNats } from "./support.mjs";

describe("news of a connection", { skip, timeout: 60_000 }, () => {
  const nats = useNats();
  const lines = [];
  before(() =>
    configure({
      sinks: { keep: ({ level, message }) => lines.push(`${level}: ${message.join("")}`) },
      loggers: [
        { category: ["operations", "nats"], lowestLevel: "warning", sinks: ["keep"] },
        { category: ["logtape", "meta"], lowestLevel: "fatal", sinks: [] },
      ],
      reset: true,
    }),
  );
  after(reset);
  const logged = (pattern) => until(() => lines.some((line) => pattern.test(line)));

  it("the loss and return of a NATS connection is reported to listeners and in the log", async () => {
    const connection = await nats.connect();
    const told = [];
    const note = (event) => (status) => told.push([event, status.state]);
    const stop = connection.on("disconnected", note("gone"));
    connection.on("disconnected", note("disconnected"));
    connection.on("reconnected", note("reconnected"));
    assert.deepEqual(Object.keys(connection.status()), ["state", "since"]);
    assert.equal(connection.status().state, "connected");
    stop();
    await nats.broker.kill();
    await until(() => told.length === 1);
    assert.equal(connection.status().state, "disconnected");
    await until(() => connection.status().problem !== undefined);
    await nats.broker.start();
    await until(() => told.length === 2);
    assert.deepEqual(told, [
      ["disconnected", "disconnected"],
      ["reconnected", "connected"],
    ]);
    assert.equal(connection.stats().reconnections, 1);
    await logged(/^warning: The connection to NATS is lost/);
    await logged(/^warning: No connection to NATS: /);
    await logged(/^warning: The connection to NATS is back/);
    // The same problem, again and again, is one line.
    const problems = lines.filter((line) => line.includes("No connection to NATS"));
    assert.equal(new Set(problems).size, problems.length);
  });

  it("a first NATS connection that comes late is reported", async () => {
    const broker = await startNats();
    await broker.kill();
    const connection = await nats.connect({ servers: broker.url, waitOnFirstConnect: true });
    try {
      const told = [];
      connection.on("connected", ({ state }) => told.push(state));
      assert.equal(connection.status().state, "connecting");
      await broker.start();
      await until(() => told.length === 1);
      assert.deepEqual(told, ["connected"]);
      assert.equal(connection.stats().reconnections, 0);
    } finally {
      await connection.close({ drain: 0 });
      await broker.stop();
    }
  });

  it("workers and callers that disappear are named in the log", async () => {
    const victim = await nats.process("./worker-process.mjs", { name: "victim" });
    const { callMap } = await nats.connect();
    const lost = callMap.call("t.hang", {}).catch((error) => error);
    await victim.until((line) => line.hanging);
    // Confirmed: it says so within milliseconds.
    await sleep(200);
    await victim.kill("SIGKILL");
    assert.equal((await lost).details.worker, "victim");
    await logged(/^warning: The worker victim has disappeared \(calls that fail with it: 1\)/);

    let hanging = 0;
    await nats.worker([
      query("hang", () => {
        hanging += 1;
        return new Promise(() => {});
      }),
    ]);
    const caller = await nats.process("./caller-process.mjs", { hang: true });
    await until(() => hanging === 1);
    await caller.kill("SIGKILL");
    await logged(/^warning: The caller [0-9a-f]{32} has disappeared \(calls aborted here: 1\)/);
  });

  it("unknown events of a NATS connection are refused", async () => {
    const connection = await nats.connect();
    assert.throws(() => connection.on("closd", () => {}), { code: "VALIDATION_ERROR", message: /closed/ });
    assert.throws(() => connection.on("closed"), { code: "VALIDATION_ERROR" });
  });
});
