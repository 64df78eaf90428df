// `context.env` in contexts that the package makes, and in those of operations that declare what they use.

import type { OperationContext, OperationEnv, OperationSpec } from "../types.js";
import { buildEnv, usedEnv } from "./env.js";
import type { OperationRegistry } from "./registry.js";

/** Environments that the package made, as opposed to those that a caller brought. */
const ownEnvs = new WeakSet<object>();
const IS_OFFERED = Symbol("@alkdev/operations: a getter of the package");

/** Gives a context its `env`, made when it is first read: it has a function for each operation. A copy of the context, with another
 * signal perhaps, makes one of its own. */
export function offerEnv(registry: OperationRegistry, context: OperationContext): void {
  Object.defineProperty(context, "env", {
    get: markGetter(function (this: OperationContext): OperationEnv {
      const env = ownEnv(registry, this);
      setProperty(this, "env", env);
      return env;
    }),
    set(this: OperationContext, env: unknown) {
      setProperty(this, "env", env);
    },
    enumerable: true,
    configurable: true,
  });
}

/** An environment of the whole registry that no caller brought. */
export function ownEnv(registry: OperationRegistry, context: OperationContext): OperationEnv {
  const env = buildEnv({ registry, context });
  ownEnvs.add(env);
  return env;
}

/** Marks a getter that makes such an environment. */
export function markGetter<T extends () => unknown>(get: T): T {
  return Object.assign(get, { [IS_OFFERED]: true });
}

/** The context for the handler of an operation that declares what it uses: a copy with `env`, unless the caller brought one. */
export function withUsedEnv(
  registry: OperationRegistry,
  context: OperationContext,
  uses: NonNullable<OperationSpec["uses"]>,
): OperationContext {
  const present = Object.getOwnPropertyDescriptor(context, "env");
  const isOffered = Object(present?.get)[IS_OFFERED] === true;
  const brought = isOffered ? undefined : context.env;
  if (brought !== undefined && !ownEnvs.has(brought)) return context;
  const copy: OperationContext = Object.create(
    Object.getPrototypeOf(context),
    Object.getOwnPropertyDescriptors(context),
  );
  if (uses === true) {
    offerEnv(registry, copy);
    return copy;
  }
  const env = usedEnv(uses, copy, (id, input) => {
    const nested: OperationContext = { ...copy, trusted: true };
    offerEnv(registry, nested);
    return registry.execute(id, input, nested);
  });
  ownEnvs.add(env);
  setProperty(copy, "env", env);
  return copy;
}

/** Puts a value in the place of a property that is computed. */
export function setProperty(context: OperationContext, name: "signal" | "env", value: unknown): void {
  Object.defineProperty(context, name, { value, writable: true, configurable: true, enumerable: true });
}
