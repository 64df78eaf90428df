// How long something keeps the event loop from turning. Hostile tests assert that nothing from outside does so for long.

import { Worker } from "node:worker_threads";

const TICK = 5;

/**
 * Runs a function, waits for what it returns, and says for how many milliseconds at most the event loop stood still.
 *
 * The clock is a thread beside this one that counts while it gets to run. When the machine is busy with something
 * else, both stand still and nothing is counted: a test that asserts a bound is then too kind, not wrong.
 *
 * @template T
 * @param {() => T | Promise<T>} run
 * @returns {Promise<{ result: T, stall: number }>}
 */
export async function longestStall(run) {
  const ticks = new Int32Array(new SharedArrayBuffer(4));
  const clock = new Worker(
    `const { workerData: ticks } = require("node:worker_threads");
     setInterval(() => Atomics.add(ticks, 0, 1), ${TICK});`,
    { eval: true, workerData: ticks },
  );
  try {
    while (Atomics.load(ticks, 0) === 0) await turn();
    let longest = 0;
    let seen = Atomics.load(ticks, 0);
    const look = () => {
      const now = Atomics.load(ticks, 0);
      longest = Math.max(longest, now - seen);
      seen = now;
    };
    const watch = setInterval(look, TICK);
    try {
      const result = await run();
      // What was kept waiting by the last of it counts too.
      await turn();
      look();
      return { result, stall: longest * TICK };
    } finally {
      clearInterval(watch);
    }
  } finally {
    await clock.terminate();
  }
}

const turn = () => new Promise((resolve) => setTimeout(resolve, TICK));
