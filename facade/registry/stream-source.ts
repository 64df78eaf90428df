// What the handler of a subscription gives.

import { type CallError, failed } from "../errors.js";

/** The iterator of what a handler returned; `undefined` without one. */
export function asyncIteratorOf(source: unknown): AsyncIterator<unknown> | undefined {
  if (typeof source !== "object" || source === null) return undefined;
  const make: unknown = (source as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator];
  return typeof make === "function" ? (make.call(source) as AsyncIterator<unknown>) : undefined;
}

export function noAsyncIterable(operationId: string, source: unknown): CallError {
  // It may be the promise of an async function. If that fails later, an unhandled rejection would end the process.
  new Promise((resolve) => resolve(source)).catch(() => {});
  return failed(`The handler of subscription ${operationId} must return an async iterable`, { operationId });
}
