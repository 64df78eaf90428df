// What is served, as the HTTP door and its document show it (`crates/operations-serve/src/door/http/descriptor.rs`).

import { optionOf } from "../interop/options.js";
import {
  callableEntries,
  describedErrors,
  describeOperation,
  schemaText,
} from "../registry/describe-operation.js";
import { traitsOf } from "../registry/handler-traits.js";
import type { OperationRegistry } from "../registry/registry.js";
import { hasCustomAuth, withoutCustomAuth } from "../registry/rules.js";
import type { Describable } from "./description-log.js";

/** All operations that can be called from outside. */
export function describeHttp(registry: OperationRegistry): Describable[] {
  return callableEntries(registry).map((entry): Describable => {
    const { spec, handler, rules } = entry;
    const describe = () =>
      describeOperation(
        spec,
        {
          deprecated: optionOf(Object(spec._meta), "deprecated") === true,
          access: withoutCustomAuth(rules),
          hasCustomAuth: hasCustomAuth(rules),
          errors: describedErrors(spec),
        },
        {
          request: traitsOf(handler).nativeWork?.request?.() ?? "null",
          input: schemaText(spec, "inputSchema"),
          output: schemaText(spec, "outputSchema"),
        },
      );
    return { key: entry, facts: [rules, handler], describe };
  });
}
