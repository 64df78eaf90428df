import type { OperationsOf } from "../operation-types.js";
import type { AnyOperation } from "../types.js";
import { OperationRegistry, type RegistryOptions } from "./registry.js";

/**
 * A registry that knows its operations: ids, inputs and results of `execute`, `subscribe` and `buildEnv` are checked by
 * the compiler. Operations that are registered later work, but the types do not know them.
 */
export function createRegistry<const TList extends readonly AnyOperation[]>(
  operations: TList,
  options?: RegistryOptions,
): OperationRegistry<OperationsOf<TList[number]>> {
  const registry = new OperationRegistry(options);
  registry.registerAll(operations);
  return registry;
}
