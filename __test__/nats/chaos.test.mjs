// Three workers and two callers, while workers are killed, the broker is restarted and the network of one caller is cut.
// OPERATIONS_CHAOS_SECONDS says for how long (15 by default).

import assert from "node:assert/strict";
import { readdirSync, readlinkSync } from "node:fs";
import { describe, it } from "node:test";
import { CallError, unwrap } from "@alkdev/operations";
import { longestStall } from "../support/event-loop.mjs";
import { startProxy } from "../support/proxy.mjs";
import { skip, sleep, until, useNats } from "./support.mjs";

const seconds = Number(process.env.OPERATIONS_CHAOS_SECONDS ?? 15);
const KILL_EVERY = 3_000;
/** Long enough that calls are given up, short enough that nobody has noticed the cut itself. */
const CUT_FOR = 4_000;
const AT_ONCE = 16;

/** Sockets of this process, where that can be known. */
function sockets() {
  if (process.platform !== "linux") return 0;
  const links = readdirSync("/proc/self/fd").map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return "";
    }
  });
  return links.filter((link) => link.startsWith("socket:")).length;
}

describe("under chaos", { skip, timeout: (seconds + 120) * 1_000 }, () => {
  const nats = useNats();

  it("under chaos every call over NATS has one true outcome; nothing runs twice, hangs or is left", async (t) => {
    const socketsBefore = sockets();
    const proxy = await startProxy(nats.broker.port);
    let started = 0;
    const all = [];
    const start = async () => {
      started += 1;
      const worker = await nats.process("./chaos-worker.mjs", { name: `worker-${started}` });
      all.push(worker);
      return worker;
    };
    const workers = await Promise.all([start(), start(), start()]);
    const callers = await Promise.all([
      nats.connect({ name: "near" }),
      nats.connect({ name: "far", servers: `nats://127.0.0.1:${proxy.port}` }),
    ]);

    let isOver = false;
    const outcomes = new Map();
    const streams = { complete: 0, ended: 0 };
    let longest = 0;
    /** One call, its key, and what came of it. */
    async function call({ callMap }, key, n) {
      const options =
        n % 10 === 3
          ? { deadline: Date.now() + 150 }
          : n % 10 === 7
            ? { signal: AbortSignal.timeout(1 + (n % 40)) }
            : {};
      const began = Date.now();
      const outcome = await callMap.call("t.once", { key, ms: n % 30 }, options).then(
        (envelope) => unwrap(envelope).key,
        (error) => error,
      );
      longest = Math.max(longest, Date.now() - began);
      assert.ok(!outcomes.has(key), `${key} has two outcomes`);
      outcomes.set(key, outcome);
    }
    async function calls(caller, lane) {
      for (let n = 0; !isOver; n++) {
        await call(caller, `${lane}-${n}`, n);
        await sleep(1);
      }
    }
    async function subscriptions({ callMap }) {
      while (!isOver) {
        let last = 0;
        try {
          for await (const envelope of callMap.subscribe("t.count", { to: 200 })) {
            last += 1;
            assert.equal(unwrap(envelope), last, "events are lost or doubled");
          }
          assert.equal(last, 200);
          streams.complete += 1;
        } catch (error) {
          if (!(error instanceof CallError)) throw error;
          assert.match(error.details.delivery, /^(none|unknown)$/);
          streams.ended += 1;
        }
        await sleep(10);
      }
    }
    const traffic = callers.flatMap((caller, i) => [
      subscriptions(caller),
      ...Array.from({ length: AT_ONCE }, (_, lane) => calls(caller, `${i}-${lane}`)),
    ]);

    const { stall } = await longestStall(async () => {
      const end = Date.now() + seconds * 1_000;
      for (let round = 0; Date.now() < end; round++) {
        const victim = workers[round % workers.length];
        await victim.kill("SIGKILL");
        workers[round % workers.length] = await start();
        if (round % 3 === 1) await nats.broker.restart();
        if (round % 3 === 2) {
          proxy.cut();
          await sleep(CUT_FOR);
          proxy.mend();
        } else {
          await sleep(KILL_EVERY);
        }
      }
      isOver = true;
      await Promise.all(traffic);
    });
    for (const { callMap } of callers) assert.equal(callMap.getPendingCount(), 0);
    await Promise.all(callers.map((caller) => caller.close()));
    await Promise.all(all.map((worker) => worker.kill()));
    await proxy.stop();

    const runs = new Map();
    for (const { lines } of all) {
      for (const { ran } of lines) if (ran !== undefined) runs.set(ran, (runs.get(ran) ?? 0) + 1);
    }
    const counts = { answered: 0 };
    for (const [key, outcome] of outcomes) {
      const ran = runs.get(key) ?? 0;
      assert.ok(ran <= 1, `${key} ran ${ran} times`);
      if (outcome === key) {
        assert.equal(ran, 1, `${key} has an answer and did not run`);
        counts.answered += 1;
        continue;
      }
      assert.ok(outcome instanceof CallError, String(outcome));
      const { delivery, reason = outcome.code } = outcome.details;
      assert.match(delivery, /^(none|unknown)$/, outcome.message);
      // The one promise that must never be too good.
      if (delivery === "none") assert.equal(ran, 0, `${key} ran, although: ${outcome.message}`);
      const kind = `${reason} (${delivery})`;
      counts[kind] = (counts[kind] ?? 0) + 1;
    }
    t.diagnostic(
      `${outcomes.size} calls, ${JSON.stringify(counts)}; streams ${JSON.stringify(streams)}; ${started} workers; ` +
        `longest call ${longest} ms; stall ${Math.round(stall)} ms`,
    );
    assert.ok(counts.answered > 0 && streams.complete > 0);
    assert.ok(stall < 500, `the event loop stood still for ${stall} ms`);
    await until(() => sockets() <= socketsBefore);
  });
});
