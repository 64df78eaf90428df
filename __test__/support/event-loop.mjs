// How long something keeps the event loop from turning. Hostile tests assert that nothing from outside does so for long.

import assert from "node:assert/strict";
import { afterEach, beforeEach } from "node:test";
import { Worker } from "node:worker_threads";
import { ownTime } from "./own-time.mjs";
import { SLOWNESS } from "./slowness.mjs";

const TICK = 5;
/** Nothing from outside may hold the JavaScript thread longer, in milliseconds. */
export const BOUND = 500 * SLOWNESS;

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
  const watch = await watchStalls();
  try {
    const result = await run();
    return { result, stall: await watch.longest() };
  } finally {
    await watch.end();
  }
}

/**
 * For hostile tests: from here on, each test of the file or of the `describe` in which this is called fails if the event
 * loop stood still for longer than the bound while it ran.
 */
export function assertNoStalls(bound = BOUND) {
  // Tests may run at the same time.
  let active = 0;
  let watching;
  beforeEach(async () => {
    active += 1;
    watching ??= watchStalls();
    await watching;
  });
  afterEach(async () => {
    active -= 1;
    const watch = await watching;
    const stall = await watch.longest();
    if (active === 0) {
      watching = undefined;
      await watch.end();
    }
    assert.ok(stall <= bound, `the event loop stood still for ${stall} ms`);
  });
}

/** A turn of the event loop, for tests that look at many things in a row: each by itself must not hold it. */
export const turn = () => new Promise((resolve) => setTimeout(resolve));

async function watchStalls() {
  const clock = process.platform === "linux" ? { now: ownTime, end() {} } : await ticks();
  let longest = 0;
  let seen = clock.now();
  const look = () => {
    const now = clock.now();
    longest = Math.max(longest, now - seen);
    seen = now;
  };
  const timer = setInterval(look, TICK);
  return {
    /** What was kept waiting by the last of it counts too. */
    async longest() {
      await pause();
      look();
      return longest;
    },
    end() {
      clearInterval(timer);
      return clock.end();
    },
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
  while (Atomics.load(count, 0) === 0) await pause();
  return { now: () => Atomics.load(count, 0) * TICK, end: () => worker.terminate() };
}

const pause = () => new Promise((resolve) => setTimeout(resolve, TICK));
