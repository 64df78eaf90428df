// A worker whose JavaScript thread is busy: what it does when it is back, and who does its work until then.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { unwrap } from "@alkdev/operations";
import { skip, sleep, useNats } from "./support.mjs";

describe("a worker whose event loop stood still", { skip, timeout: 60_000 }, () => {
  const nats = useNats();

  it("a worker that was blocked does not begin calls that timed out or were aborted meanwhile", async () => {
    const worker = await nats.process("worker-process.mjs");
    const { callMap } = await nats.connect();
    const blocked = callMap.call("t.block", { ms: 2_000 });
    await worker.until((line) => line.blocking);
    const controller = new AbortController();
    const late = Array.from({ length: 20 }, (_, i) =>
      callMap.call("t.work", { tag: `late ${i}`, ms: 0 }, { deadline: Date.now() + 300 }),
    );
    const aborted = Array.from({ length: 20 }, (_, i) =>
      callMap.call("t.work", { tag: `aborted ${i}`, ms: 0 }, { signal: controller.signal }),
    );
    const outcomes = Promise.allSettled([...late, ...aborted]);
    await sleep(300);
    controller.abort();
    const codes = (await outcomes).map(({ reason }) => reason?.code);
    assert.deepEqual(codes, [...late.map(() => "TIMEOUT"), ...aborted.map(() => "ABORTED")]);
    await blocked;
    // What comes after them is served, so they have had their turn.
    assert.equal(unwrap(await callMap.call("t.echo", 1)), 1);
    assert.deepEqual(
      worker.lines.filter((line) => line.began !== undefined),
      [],
    );
  });
});

describe("while the event loop of a worker stands still", { skip, timeout: 60_000 }, () => {
  const nats = useNats();

  it("calls that wait at a blocked worker go to another, and new ones go to another at once", async () => {
    const [one, other] = [
      await nats.process("worker-process.mjs", { name: "one", concurrency: 32 }),
      await nats.process("worker-process.mjs", { name: "other", concurrency: 32 }),
    ];
    const { callMap } = await nats.connect();
    let isOver = false;
    const blocked = callMap.call("t.block", { ms: 9_000 }).finally(() => {
      isOver = true;
    });
    const stuck = await Promise.race(
      [one, other].map((worker) => worker.until((line) => line.blocking).then(() => worker)),
    );
    const free = stuck === one ? other : one;
    const pids = async (count) => {
      const calls = Array.from({ length: count }, () => callMap.call("t.whoami", {}));
      return new Set((await Promise.all(calls)).map((envelope) => unwrap(envelope).pid));
    };
    // Some of these went to the one that is stuck, and were given back.
    assert.deepEqual(await pids(20), new Set([free.pid]));
    assert.deepEqual(await pids(20), new Set([free.pid]));
    assert.equal(isOver, false);
    await blocked;
  });
});
