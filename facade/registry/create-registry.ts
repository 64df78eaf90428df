import { isObject, refusal } from "../interop/options.js";
import { kindOf } from "../interop/text.js";
import type { OperationsOf } from "../operation-types.js";
import type { AnyOperation } from "../types.js";
import { OperationRegistry } from "./registry.js";
import type { RegistryOptions } from "./registry-options.js";

/**
 * A registry that knows its operations: the compiler checks ids, inputs and results of `execute`, `subscribe` and
 * `buildEnv`. Imported operations may be in the list: ids that the compiler does not know can then be called, and their
 * data is `unknown`. Call operations that are registered later through `registry.untyped()`.
 *
 * Unless `options.output` says otherwise, what a handler of your own returns is never replaced by invented values (`"strict"`);
 * results of imported operations are normalised.
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
  if (!Array.isArray(operations)) {
    const isIterable = isObject(operations) && Symbol.iterator in operations;
    const found = isIterable ? ": [...operations] makes one" : `, not ${kindOf(operations)}`;
    throw refusal("createRegistry: operations", `must be a list of operations${found}`);
  }
  const registry = new OperationRegistry(options ?? {}, "strict-own");
  registry.registerAll(operations);
  refuseTwice(operations);
  return registry;
}

/** Of two operations with one id, `registerAll` keeps the last. Here the compiler knows both, so that would be a surprise. */
function refuseTwice(operations: readonly AnyOperation[]): void {
  const known = new Map<string, AnyOperation>();
  for (const operation of operations) {
    const id = `${operation.namespace}.${operation.name}`;
    if ((known.get(id) ?? operation) !== operation) {
      throw refusal(
        "createRegistry: operations",
        `must have one operation with the id ${id}, not several. To replace one later, call registry.register()`,
      );
    }
    known.set(id, operation);
  }
}
