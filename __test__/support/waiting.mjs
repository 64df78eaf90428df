// Promises that tests settle and wait for.

import { SLOWNESS } from "./slowness.mjs";

export const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Lets everything run that is ready to. */
export const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Waits until something is so, and returns what it is. The limit ends a test that would wait for ever: it measures nothing. */
export async function until(holds, what = String(holds)) {
  const limit = 60_000 * SLOWNESS;
  const end = Date.now() + limit;
  for (;;) {
    const value = await holds();
    if (value) return value;
    if (Date.now() > end) throw new Error(`Waited ${limit} ms in vain until ${what}`);
    await sleep(5);
  }
}

/** A promise and the function that resolves it. */
export function deferred() {
  let resolve;
  const promise = new Promise((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** The error of a promise that has to fail. */
export async function failureOf(promise) {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error) => ({ error }),
  );
  if (!("error" in outcome)) throw new Error(`it did not fail: ${JSON.stringify(outcome.value)}`);
  return outcome.error;
}

/** Everything that a stream yields. */
export async function collect(stream) {
  const all = [];
  for await (const each of stream) all.push(each);
  return all;
}

/** The data of all envelopes of a stream. */
export async function collectData(stream) {
  return (await collect(stream)).map(({ data }) => data);
}
