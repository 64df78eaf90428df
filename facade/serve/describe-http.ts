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

/** All operations that can be called from outside, as a JSON list. */
export function describeHttp(registry: OperationRegistry): string {
  const all = callableEntries(registry).map(({ spec, handler, rules }) =>
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
    ),
  );
  return `[${all.join(",")}]`;
}
