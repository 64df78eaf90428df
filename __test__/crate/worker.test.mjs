// A worker in Rust, and a caller of the npm package.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { connectNats } from "@alkdev/operations/transport-nats";
import { missingBroker, startNats } from "../support/brokers.mjs";
import { compileExample, start, withoutCargo } from "./programs.mjs";

describe("workers in Rust", { skip: withoutCargo() || missingBroker("nats-server") }, () => {
  let broker;
  let nats;
  const workers = [];

  before(async () => {
    broker = await startNats();
    const program = compileExample("worker");
    for (const name of ["one", "two"]) workers.push(await start(program, [broker.url, name]));
    nats = await connectNats({ servers: broker.url, name: "caller" });
  });
  after(async () => {
    await nats?.close();
    for (const worker of workers) await worker.stop();
    await broker?.kill();
  });

  it("a worker in Rust describes its operations to a caller of the npm package", async () => {
    const { operations, workers } = await nats.discover();
    assert.deepEqual(workers.map(({ name }) => name).sort(), ["one", "two"]);
    const [{ operationId, description, inputSchema }] = operations;
    assert.deepEqual([operationId, description], ["text.words", "Counts words"]);
    assert.deepEqual(inputSchema.required, ["text"]);
  });

  it("workers in Rust share the calls of the npm package", async () => {
    const calls = Array.from({ length: 200 }, (_, index) =>
      nats.callMap.call("text.words", { text: "a ".repeat(index) }, { deadline: Date.now() + 30_000 }),
    );
    const answers = (await Promise.all(calls)).map(({ data }) => data);
    assert.deepEqual(
      answers.map(({ words }) => words),
      answers.map((_, index) => index),
    );
    assert.deepEqual([...new Set(answers.map(({ worker }) => worker))].sort(), ["one", "two"]);
  });

  it("a worker in Rust refuses an input that does not fit, as one of the npm package does", async () => {
    const call = nats.callMap.call("text.words", { text: 1 }, { deadline: Date.now() + 30_000 });
    await assert.rejects(call, { code: "VALIDATION_ERROR", message: /\/text: Expected string/ });
  });
});
