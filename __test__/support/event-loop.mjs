// How long something keeps the event loop from turning. Hostile tests assert that nothing from outside does so for long.

import { readFileSync } from "node:fs";
import { Worker } from "node:worker_threads";

const TICK = 5;

/**
 * Runs a function, waits for what it returns, and says for how many milliseconds at most the event loop stood still.
 *
 * Time for which the machine was busy with something else is not counted, as far as the clock can tell.
 *
 * @template T
 * @param {() => T | Promise<T>} run
 * @returns {Promise<{ result: T, stall: number }>}
 */
export async function longestStall(run) {
  const clock = process.platform === "linux" ? ownTime() : await ticks();
  try {
    let longest = 0;
    let seen = clock.now();
    const look = () => {
      const now = clock.now();
      longest = Math.max(longest, now - seen);
      seen = now;
    };
    const watch = setInterval(look, TICK);
    try {
      const result = await run();
      // What was kept waiting by the last of it counts too.
      await turn();
      look();
      return { result, stall: longest };
    } finally {
      clearInterval(watch);
    }
  } finally {
    await clock.end();
  }
}

/** Linux tells for how long a thread was ready to run and had no core: that is taken out. */
function ownTime() {
  const file = `/proc/self/task/${process.pid}/schedstat`;
  return {
    now: () => performance.now() - Number(readFileSync(file, "utf8").split(" ")[1]) / 1e6,
    end() {},
  };
}

/** Elsewhere a thread beside this one counts while it gets to run. When the machine is busy with something else, both stand
 * still and nothing is counted: a test that asserts a bound is then too kind, not wrong. */
async function ticks() {
  const count = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(
    `const { workerData: count } = require("node:worker_threads");
     setInterval(() => Atomics.add(count, 0, 1), ${TICK});`,
    { eval: true, workerData: count },
  );
  while (Atomics.load(count, 0) === 0) await turn();
  return { now: () => Atomics.load(count, 0) * TICK, end: () => worker.terminate() };
}

const turn = () => new Promise((resolve) => setTimeout(resolve, TICK));
