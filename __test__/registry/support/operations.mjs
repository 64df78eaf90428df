// Operations to test with: a complete spec, of which a test changes what it is about.

import { CallError, OperationRegistry } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";

let made = 0;

/** A name that no other operation of this process has. Warnings are limited by operation, so tests that
 * count them must not share one. */
export function freshName(prefix = "op") {
  made += 1;
  return `${prefix}${made}`;
}

/** A QUERY without rules that returns its input. */
export function operation(changes = {}) {
  return {
    name: freshName(),
    namespace: "test",
    version: "1.0.0",
    type: "query",
    description: "An operation of a test",
    inputSchema: Type.Unknown(),
    outputSchema: Type.Unknown(),
    accessControl: { requiredScopes: [] },
    handler: (input) => input,
    ...changes,
  };
}

/** A SUBSCRIPTION without rules that yields the items of its input. */
export function subscription(changes = {}) {
  return operation({
    type: "subscription",
    handler: async function* (input) {
      yield* input;
    },
    ...changes,
  });
}

export function idOf({ namespace, name }) {
  return `${namespace}.${name}`;
}

/** A registry with one operation, and the ways to call it. */
export function registered(changes = {}, options = {}) {
  const registry = new OperationRegistry(options);
  const spec = changes.type === "subscription" ? subscription(changes) : operation(changes);
  registry.register(spec);
  const id = idOf(spec);
  return { registry, id, execute: (input, context) => registry.execute(id, input, context) };
}

/** For `assert.throws` and `assert.rejects`: a `CallError` of this code whose message has all fragments. */
export function callError(code, ...fragments) {
  return (error) => {
    if (!(error instanceof CallError) || error.code !== code) return false;
    const absent = fragments.filter((fragment) => !error.message.includes(fragment));
    if (absent.length > 0) throw new Error(`${JSON.stringify(error.message)} lacks ${absent.join(" and ")}`);
    return true;
  };
}

/** What a promise rejects with, whatever kind of value that is. */
export async function rejection(promise) {
  try {
    await promise;
  } catch (error) {
    return { thrown: error };
  }
  throw new Error("it did not reject");
}

/** Calls an operation until its checks are the emitted ones, not the native walk's. */
export async function warmUp(execute, value, calls = 2000) {
  for (let i = 0; i < calls; i++) await execute(value);
}
