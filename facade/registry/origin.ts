// Which code runs on behalf of a call from outside the program. `trustDirectCalls` is for the program's own calls; what a
// handler calls while it serves a client is not one of these, whatever context it passes (docs/decisions/0030-origin-of-a-call.md).

import { type AsyncStorage, newAsyncStorage } from "../interop/host.js";
import type { OperationContext } from "../types.js";

/** In the context of a call from outside. An enumerable property, so that copies have it too. */
const MARK = Symbol.for("@alkdev/operations: from outside");
/** In the global object, because every copy of the package in a process has to know the same calls. */
const SHARED = Symbol.for("@alkdev/operations: calls from outside");

interface Shared {
  scope?: AsyncStorage<true>;
}

const shared: Shared = (globalThis as { [SHARED]?: Shared })[SHARED] ?? {};
Reflect.defineProperty(globalThis, SHARED, { value: shared });

/** Has calls from outside run in a scope from now on. A program without a registry that trusts direct calls does not pay for
 * it. Where the runtime has no `AsyncLocalStorage`, the mark of the context has to do. */
export function beginTrackingOrigin(): void {
  const scope = shared.scope ?? newAsyncStorage<true>();
  if (scope !== undefined) shared.scope = scope;
}

/** The scope of calls from outside, if there is one. */
export function scopeForOutside(): AsyncStorage<true> | undefined {
  return shared.scope;
}

/** Runs code on behalf of a call from outside. */
export function runForOutside<T>(work: () => T): T {
  const scope = shared.scope;
  return scope === undefined ? work() : scope.run(true, work);
}

/** The same stream, whose source always runs on behalf of a call from outside. */
export function iterateForOutside(iterator: AsyncIterator<unknown>): AsyncIterator<unknown> {
  if (shared.scope === undefined) return iterator;
  return {
    next: () => runForOutside(() => iterator.next()),
    return: async () => runForOutside(() => iterator.return?.()) ?? { done: true, value: undefined },
  };
}

interface Marked {
  readonly [MARK]?: true;
}

/** Whether a call with this context, made here and now, is a part of a call from outside. */
export function isForOutside(context: OperationContext): boolean {
  if ((context as Marked)[MARK] === true) return true;
  const scope = shared.scope;
  // Without a scope: copies that were made name by name lack the mark of the context, but have its `env`.
  return scope === undefined
    ? (context.env as Marked | undefined)?.[MARK] === true
    : scope.getStore() === true;
}

/** Marks the environment of a call from outside. */
export function markEnv(env: object, context: OperationContext): void {
  if ((context as Marked)[MARK] === true) Object.defineProperty(env, MARK, { value: true });
}

/** The beginning of the context of a call from outside. */
export function contextFromOutside(requestId: string): OperationContext {
  return { requestId, [MARK]: true } as OperationContext;
}

/** A copy of a context for a call from outside. */
export function copyForOutside(context: object): OperationContext {
  const { trusted: _, ...rest } = context as OperationContext;
  return { ...rest, [MARK]: true } as OperationContext;
}

/** A context that a middleware has put in the place of another. A call from outside stays one: no context makes it trusted. */
export function replaceContext(before: OperationContext, given: OperationContext): OperationContext {
  if (given === before || !isForOutside(before)) return given;
  const isRaised = given.trusted !== undefined && before.trusted !== true;
  if (!isRaised && Reflect.defineProperty(given, MARK, MARKED)) return given;
  const copy = copyForOutside(given);
  return isRaised || given.trusted === undefined ? copy : Object.assign(copy, { trusted: given.trusted });
}

const MARKED = { value: true, enumerable: true, configurable: true, writable: true };
