import type { OperationsOf } from "../operation-types.js";
import type { AnyOperation } from "../types.js";
import { OperationRegistry, type RegistryOptions } from "./registry.js";

/**
 * A registry that knows its operations: ids, inputs and results of `execute`, `subscribe` and `buildEnv` are checked by
 * the compiler. Operations that are registered later work, but the types do not know them.
 *
 * @example
 * ```ts
 * const registry = createRegistry([greet]);
 * const { data } = await registry.execute("demo.greet", { name: "Ada" });
 * data.greeting; // a string; a misspelt id or property does not compile
 * ```
 */
export function createRegistry<const TList extends readonly AnyOperation[]>(
  operations: TList,
  options?: RegistryOptions,
): OperationRegistry<OperationsOf<TList[number]>> {
  const registry = new OperationRegistry(options);
  registry.registerAll(operations);
  return registry;
}
