// A spec that cannot work is refused when it is registered, by name and field.

import { unknownRule, whenFlaw } from "../access-rules.js";
import { type CallError, invalid } from "../errors.js";
import { nearestName } from "../interop/nearest-name.js";
import { isRecord, optionOf } from "../interop/options.js";
import { quoted } from "../interop/text.js";
import { compiled, type ValueError } from "../schema/compiled.js";
import { withoutLazySchemas } from "../schema/lazy.js";
import { OperationSpecSchema } from "../spec-schemas.js";
import { type OperationSpec, OperationType } from "../types.js";
import type { AnyHandler } from "./entry.js";

/** `namespace.name`, or the best that can be said of a broken spec. */
export function operationId(spec: { namespace?: unknown; name?: unknown }): string {
  return `${textOr(spec.namespace, "<no namespace>")}.${textOr(spec.name, "<no name>")}`;
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" && value !== "" ? value : otherwise;
}

/** Refuses a malformed spec. */
export function assertSpec(spec: unknown): asserts spec is OperationSpec {
  if (typeof spec !== "object" || spec === null) {
    throw refusal("an operation", [{ path: "", message: `Expected an object, not ${quoted(spec)}` }]);
  }
  const checked = compiled(OperationSpecSchema);
  const seen = withoutLazySchemas(spec, {});
  const { accessControl, _meta, uses } = spec as { accessControl?: unknown; _meta?: unknown; uses?: unknown };
  const misnamed = [
    ...misnamedRule(accessControl),
    ...unknownMode(_meta),
    ...misspeltMeta(_meta),
    ...misnamedUses(uses),
  ];
  if (misnamed.length > 0 || !checked.check(seen)) {
    const found = checked.errors(seen).map((error) => inWords(error, spec as Record<string, unknown>));
    // First, because a misspelt name explains why another is missing.
    const errors = [...misnamed, ...found];
    // What is missing is not also of the wrong type.
    const first = errors.filter(({ path }, i) => errors.findIndex((error) => error.path === path) === i);
    throw refusal(`operation ${operationId(spec)}`, first);
  }
}

function misnamedRule(rules: unknown): ValueError[] {
  if (typeof rules !== "object" || rules === null) return [];
  const unknown = unknownRule(rules);
  if (unknown !== undefined) return [{ path: `/accessControl/${unknown.name}`, message: unknown.message }];
  const flaw = whenFlaw(rules);
  return flaw === undefined ? [] : [{ path: `/accessControl/${flaw.at}`, message: flaw.message }];
}

/** `uses` holds operations under their own names, because `env` has them under these. */
function misnamedUses(uses: unknown): ValueError[] {
  if (uses === undefined || uses === true) return [];
  if (!isRecord(uses))
    return [{ path: "/uses", message: "Expected true, or operations by namespace and name" }];
  return Object.entries(uses).flatMap(([namespace, operations]) =>
    Object.entries(Object(operations)).flatMap(([name, operation]) => {
      const path = `/uses/${namespace}/${name}`;
      const { namespace: ownNamespace, name: ownName, type } = Object(operation);
      if (ownNamespace !== namespace || ownName !== name) {
        const found = isRecord(operation) ? operationId(operation) : quoted(operation);
        return [{ path, message: `Expected the operation ${namespace}.${name}, not ${found}` }];
      }
      const message = "Expected a query or a mutation: `env` has no subscriptions";
      return type === OperationType.SUBSCRIPTION ? [{ path, message }] : [];
    }),
  );
}

/** `_meta` may hold anything, but its `output` means something here. */
function unknownMode(meta: unknown): ValueError[] {
  const output = isRecord(meta) ? optionOf(meta, "output") : undefined;
  if (output === undefined || OUTPUT_MODES.includes(output as string)) return [];
  return [{ path: "/_meta/output", message: `Expected ${listed(OUTPUT_MODES)}, not ${quoted(output)}` }];
}

/** What the package reads in `_meta`, and in `_meta.mcp`. */
const META = ["annotations", "deprecated", "instructions", "mcp", "output"];
export const MCP_META = ["tool", "prompt", "resource", "task", "requires", "complete"];

/** Other keys are the user's own, those with a namespace (`acme.com/cost`) in any case. */
function misspeltMeta(meta: unknown): ValueError[] {
  if (!isRecord(meta)) return [];
  const mcp = optionOf(meta, "mcp");
  return [...misspelt(meta, META, "/_meta"), ...(isRecord(mcp) ? misspelt(mcp, MCP_META, "/_meta/mcp") : [])];
}

function misspelt(given: object, known: readonly string[], path: string): ValueError[] {
  return Object.keys(given).flatMap((name) => {
    const nearest = known.includes(name) || /[^\w-]/.test(name) ? undefined : nearestName(name, known);
    return nearest === undefined
      ? []
      : [{ path: `${path}/${name}`, message: `Unknown key. Did you mean ${nearest}?` }];
  });
}

const OUTPUT_MODES: readonly string[] = ["normalise", "normalize", "keep", "off", "strict"];

/** The words that a field may be, where it is one of a few. */
const WORDS: Record<string, readonly string[]> = {
  "/type": Object.values(OperationType),
  "/visibility": ["external", "internal"],
  "/approval": ["never", "always"],
};

/** "Expected union value" does not help. */
function inWords({ path, message }: ValueError, spec: Record<string, unknown>): ValueError {
  const words = WORDS[path];
  const value = spec[path.slice(1)];
  if (words === undefined || value === undefined) return { path, message };
  return { path, message: `Expected ${listed(words)}, not ${quoted(value)}` };
}

function listed(words: readonly string[]): string {
  const list = words.map((word) => JSON.stringify(word));
  return `${list.slice(0, -1).join(", ")} or ${list.at(-1)}`;
}

function refusal(what: string, errors: { path: string; message: string }[]): CallError {
  const fields = errors.map(
    ({ path, message }) => `${path.slice(1).replaceAll("/", ".") || "spec"}: ${message}`,
  );
  return invalid(`Cannot register ${what}: ${[...new Set(fields)].join("; ")}`, { errors });
}

/** Refuses a handler that is not a function, or not an async generator function where one is needed. */
export function assertHandler(
  id: string,
  spec: OperationSpec,
  handler: unknown,
): asserts handler is AnyHandler {
  if (typeof handler !== "function") {
    throw invalid(
      `The handler of operation ${id} must be a function, not ${handler === null ? "null" : typeof handler}`,
      { operationId: id },
    );
  }
  if (spec.type === OperationType.SUBSCRIPTION && !isAsyncGeneratorFunction(handler)) {
    throw invalid(
      `The handler of subscription ${id} must be an async generator function (async function* () { ... })`,
      { operationId: id },
    );
  }
}

function isAsyncGeneratorFunction(handler: object): boolean {
  return (handler as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag] === "AsyncGeneratorFunction";
}
