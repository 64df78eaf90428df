// `context.env` in contexts that the package makes.

import type { OperationContext, OperationEnv } from "../types.js";
import { buildEnv } from "./env.js";
import { isFromOutside, markOutside } from "./protocol-context.js";
import type { OperationRegistry } from "./registry.js";

/** Gives a context its `env`, made when somebody looks: it has a function for each operation. A copy of the context, with another
 * signal perhaps, makes one of its own. */
export function offerEnv(registry: OperationRegistry, context: OperationContext): void {
  Object.defineProperty(context, "env", {
    get(this: OperationContext): OperationEnv {
      const env = buildEnv({ registry, context: this });
      setProperty(this, "env", env);
      if (isFromOutside(this)) markOutside(env);
      return env;
    },
    set(this: OperationContext, env: unknown) {
      setProperty(this, "env", env);
    },
    enumerable: true,
    configurable: true,
  });
}

/** Puts a value in the place of a property that is computed. */
export function setProperty(context: OperationContext, name: "signal" | "env", value: unknown): void {
  Object.defineProperty(context, name, { value, writable: true, configurable: true, enumerable: true });
}
