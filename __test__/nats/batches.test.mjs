import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { unwrap } from "@alkdev/operations";
import { deferred, query, skip, until, useNats } from "./support.mjs";

describe("calls of one turn over NATS", { skip, timeout: 60_000 }, () => {
  const nats = useNats();

  it("a call in a batch over NATS that cannot be sent fails alone", async () => {
    await nats.worker([query("same", (input) => input)], { prefix: "each" });
    const { callMap } = await nats.connect({ prefix: "each" });
    let deep = 1;
    for (let i = 0; i < 600; i++) deep = [deep];
    const outcomes = await Promise.allSettled([
      callMap.call("t.same", 1),
      callMap.call("t.same", deep),
      callMap.call("t.same", "x".repeat(2_000_000)),
      callMap.call("t.same", 2, { deadline: Date.now() - 1 }),
      callMap.call("t.none\t\n", 3),
      callMap.call("t.same", 4),
    ]);
    assert.deepEqual(
      outcomes.map(({ value, reason }) => (value === undefined ? reason.code : unwrap(value))),
      [1, "VALIDATION_ERROR", "VALIDATION_ERROR", "TIMEOUT", "OPERATION_NOT_FOUND", 4],
    );
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("a response in a batch over NATS that cannot be sent fails alone", async () => {
    let deep = 1;
    for (let i = 0; i < 600; i++) deep = [deep];
    const gate = deferred();
    const outputs = ["a", deep, "x".repeat(2_000_000), 10n, "b"];
    let arrived = 0;
    await nats.worker(
      [
        query("give", async (index) => {
          arrived += 1;
          await gate.promise;
          return outputs[index];
        }),
      ],
      { prefix: "answers" },
    );
    const { callMap } = await nats.connect({ prefix: "answers" });
    const calls = outputs.map((_, index) => callMap.call("t.give", index));
    await until(() => arrived === outputs.length);
    gate.resolve();
    const outcomes = await Promise.allSettled(calls);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "rejected", "rejected", "rejected", "fulfilled"],
    );
    for (const { reason } of outcomes.slice(1, 4)) assert.ok(reason.code.length > 0);
    assert.deepEqual([unwrap(outcomes[0].value), unwrap(outcomes[4].value)], ["a", "b"]);
  });

  it("calls of one turn over NATS are known to what follows them in the same turn", async () => {
    let arrived = 0;
    await nats.worker(
      [
        query("wait", async () => {
          arrived += 1;
          await new Promise(() => {});
        }),
      ],
      { prefix: "order" },
    );
    const connection = await nats.connect({ prefix: "order" });
    const { callMap } = connection;
    const first = callMap.call("t.wait", 0);
    const controller = new AbortController();
    const second = callMap.call("t.wait", 0, { signal: controller.signal });
    assert.equal(callMap.getPendingCount(), 2);
    const third = callMap.call("t.wait", 0);
    controller.abort();
    await assert.rejects(second, { code: "ABORTED" });
    await until(() => arrived >= 2);
    const last = callMap.call("t.wait", 0);
    const closed = connection.close();
    for (const call of [first, third, last]) await assert.rejects(call, /closed/);
    await closed;
    await assert.rejects(callMap.call("t.wait", 0), /closed/);
  });
});
