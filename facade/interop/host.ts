// What the runtime gives and the language does not. Where there is no Node, `browser/host.ts` stands in for this file
// (`scripts/build-browser.mjs`), so nothing that a browser needs may import a module of Node's directly.

import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { channel } from "node:diagnostics_channel";
import { setImmediate, setTimeout } from "node:timers";
import { setImmediate as turn } from "node:timers/promises";
import { types } from "node:util";
import { runInNewContext } from "node:vm";

/** A diagnostics channel, which others in this process can subscribe to. */
export { channel };

/** A unique id. */
export const newId: () => string = randomUUID;

/** Whether a value is an error, of this realm or of another one (a `vm` context, say). */
export const isNativeError: (value: unknown) => boolean = types.isNativeError;

/** Resolves when the event loop has turned. */
export const nextTurn: () => Promise<void> = turn;

/** Calls back when the event loop comes round: by the clock of the process, whatever a test puts in the place of timers. */
export const onNextTurn: (callback: () => void) => void = setImmediate;

const startTimer = setTimeout;

/** Calls back after so many milliseconds, by the same clock, unless the process ends before. */
export function later(callback: () => void, milliseconds: number): void {
  startTimer(callback, milliseconds).unref();
}

/** Milliseconds since 1970, whatever a test puts in the place of `Date`, before or after this is loaded: another realm has a
 * `Date` of its own. */
export const systemTime: () => number = String(Date.now).includes("[native code]")
  ? Date.now
  : runInNewContext("Date.now");

/** Warns the operator of the process. */
export function emitWarning(message: string, detail?: string): void {
  process.emitWarning(message, { type: "OperationsWarning", ...(detail !== undefined && { detail }) });
}

export function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

export function fromBase64(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "base64"));
}

const noContext = new AsyncResource("operations");
// The package may be loaded in the context of a request. Node keeps what was entered there on the resource: up to 22 by the
// first of these names, from 24 on by the second.
for (const store of Object.getOwnPropertySymbols(noContext)) {
  if (store.description === "kResourceStore" || store.description === "context_frame")
    Reflect.deleteProperty(noContext, store);
}

/** Does work in an empty async context. Native code calls a function in the context in which it was given it; from Node 24
 * on, in none. */
export function withoutContext<T, A extends unknown[]>(work: (...args: A) => T, ...args: A): T {
  return noContext.runInAsyncScope(work, undefined, ...args);
}

/** A value that code sees which a function runs, and everything that this code starts. */
export interface AsyncStorage<T> {
  run<R>(value: T, work: () => R): R;
  getStore(): T | undefined;
}

export function newAsyncStorage<T>(): AsyncStorage<T> | undefined {
  return new AsyncLocalStorage<T>();
}

/** Does work in an async context of its own: what it enters there, nothing else sees. */
export function inOwnContext(work: () => void): void {
  new AsyncResource("operations").runInAsyncScope(work);
}

/** A function that runs in the async context of now. */
export function inThisContext<T extends (...args: never[]) => unknown>(run: T): T {
  return AsyncResource.bind(run as () => unknown) as T;
}

/** Loads a library that is an optional peer, at once. Each `require` is literal and has a `try` of its own: bundlers take the
 * libraries that are installed, and go on without the others. */
export function loadLibrary(name: "zod/v4" | "@valibot/to-json-schema"): unknown {
  let failure: unknown;
  if (name === "zod/v4") {
    try {
      return require("zod/v4");
    } catch (error) {
      failure = error;
    }
  } else {
    try {
      return require("@valibot/to-json-schema");
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}
