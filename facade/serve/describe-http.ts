// What is served, as the HTTP door and its document show it (`crates/operations-serve/src/door/http/described.rs`).

import { optionOf } from "../border/options.js";
import { asJsonSchema, declaredErrors, schemaText, wellFormed } from "../registry/described.js";
import { traitsOf } from "../registry/handler-traits.js";
import type { OperationRegistry } from "../registry/registry.js";
import { type EffectiveRules, hasCustomAuth, isWellFormed, withoutCustomAuth } from "../registry/rules.js";
import type { OperationHandler, OperationSpec, SubscriptionHandler } from "../types.js";

/** All operations that can be called from outside, as a JSON list. */
export function describeHttp(registry: OperationRegistry): string {
  const all: string[] = [];
  for (const { spec, handler, isInternal, rules } of registry.entries()) {
    // Internal ones do not exist. Rules that Rust cannot read are met by no caller there.
    if (handler === undefined || isInternal || !isWellFormed(rules)) continue;
    all.push(describe(spec, rules, handler));
  }
  return wellFormed(`[${all.join(",")}]`);
}

function describe(
  spec: OperationSpec,
  rules: EffectiveRules,
  handler: OperationHandler | SubscriptionHandler,
): string {
  const { namespace, name, type, title, description, tags } = spec;
  const members = JSON.stringify({
    namespace,
    name,
    type,
    title: typeof title === "string" ? title : undefined,
    description: String(description),
    tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : undefined,
    deprecated: optionOf(Object(spec._meta), "deprecated") === true,
    access: withoutCustomAuth(rules),
    hasCustomAuth: hasCustomAuth(rules),
  }).slice(0, -1);
  const request = traitsOf(handler).nativeWork?.request?.() ?? "null";
  const input = schemaText(spec, "inputSchema");
  const output = schemaText(spec, "outputSchema");
  return `${members},"errors":${errorsOf(spec)},"request":${request},"input":${input},"output":${output}}`;
}

/** The errors that an operation announces, with what can be told of them. */
function errorsOf(spec: OperationSpec): string {
  const described = declaredErrors(spec).map((declared) => {
    const { description, schema } = Object(
      spec.errorSchemas?.find((error) => Object(error).code === declared.code),
    );
    return `${JSON.stringify({
      ...declared,
      description: typeof description === "string" ? description : undefined,
    }).slice(0, -1)},"schema":${jsonText(asJsonSchema(schema))}}`;
  });
  return `[${described.join(",")}]`;
}

/** A schema as JSON; null for one that has none. */
function jsonText(schema: unknown): string {
  try {
    return (typeof schema === "object" ? JSON.stringify(schema) : undefined) ?? "null";
  } catch {
    return "null";
  }
}
