// Operations as tools of a model's API.

import { type CallError, invalid } from "../errors.js";
import {
  aFunction,
  anObject,
  anything,
  aString,
  checkedOptions,
  type Fields,
  isFunction,
  isWhole,
  must,
  oneOf,
  required,
} from "../interop/options.js";
import type { OperationRegistry } from "../registry/registry.js";
import { native, runtime } from "../runtime.js";
import type { CallContext, CallerIdentity, OperationSpec } from "../types.js";
import { callTool, unknownTool } from "./call.js";
import { codeRegistry } from "./code-operations.js";
import { type ProgramRunner, runFor } from "./program-run.js";
import { CachedProjection, projectionOf, type SchemaLoss } from "./projection.js";
import type { ToolResult } from "./result.js";
import { type Candidate, candidates, type Include } from "./selection.js";
import { type ToolFor, type ToolTarget, toolOf } from "./targets.js";

/**
 * Options of `toTools`.
 *
 * @example
 * ```ts
 * const options: ToToolsOptions<"anthropic"> = { target: "anthropic", identity, include: ["tasks.*"] };
 * const { tools } = toTools(registry, options);
 * ```
 */
export interface ToToolsOptions<
  TTarget extends ToolTarget = ToolTarget,
  TApi extends "responses" | "chat" = "responses" | "chat",
> {
  target: TTarget;
  /**
   * The user for whom the model works. Only operations that this identity may call are listed, and calls are made with
   * it.
   */
  identity?: CallerIdentity | undefined;
  /** Ids and patterns (`files.*`), or a function of the spec. All operations if left out. */
  include?: Include | undefined;
  /** Returns another tool name for an operation. It is adapted to the rules of the target. */
  names?: ((spec: OperationSpec) => string | undefined) | undefined;
  /** For OpenAI: the Responses API (default) or Chat Completions. */
  api?: TApi | undefined;
  /** Bytes of text in a result; what is longer is shortened. Default 64 KiB. */
  maxResultBytes?: number | undefined;
  /**
   * What the model reads when a handler throws an error that is neither a `CallError` nor declared: with `"mask"`, the default,
   * that the operation failed, and the log gets message and stack; with `"expose"`, the message of the error.
   */
  errors?: "mask" | "expose" | undefined;
  /**
   * With `"code"`, the tools are `search`, `describe` and `run`, which runs programs that call the operations. It needs a `runner`.
   * `budget` is the number of tokens for the signatures in the description of `run` (default 2,000).
   */
  mode?: "code" | undefined;
  /** Made by `createCodeRunner` of `@alkdev/operations/code`, for this registry. */
  runner?: ProgramRunner | undefined;
  budget?: number | undefined;
}

/**
 * A loss in the schema of an operation.
 *
 * @example
 * ```ts
 * const losses: ToolLoss[] = toTools(registry, { target: "openai-strict" }).losses;
 * for (const { operationId, path, message } of losses) console.log(`${operationId}${path}: ${message}`);
 * ```
 */
export interface ToolLoss extends SchemaLoss {
  operationId: string;
}

/**
 * The tools of a registry, which follow its registrations.
 *
 * @example
 * ```ts
 * const kit: Tools<AnthropicTool> = toTools(registry, { target: "anthropic", identity });
 * kit.operationOf("tasks_list"); // "tasks.list"
 * ```
 */
export interface Tools<TTool = unknown> {
  /** What goes into the API's `tools`, in the order of the ids. */
  readonly tools: TTool[];
  /** Which schemas were weakened for the target and how, and which operations had to be left out. */
  readonly losses: ToolLoss[];
  /** Calls the operation of a tool. Never rejects: a failure is a result with `isError`. */
  call(name: string, input: unknown, context?: CallContext): Promise<ToolResult>;
  /** The id of the operation of a tool. */
  operationOf(name: string): string | undefined;
}

/** Bytes of text in a result, by default. */
export const MAX_RESULT_BYTES = 65_536;
export const RESULT_BYTES = must(
  "a whole number of at least 256",
  (value) => isWhole(value, 256) && value <= 0xffff_ffff,
);
export const CODE_FIELDS: Fields<Pick<ToToolsOptions, "mode" | "runner" | "budget">> = {
  mode: oneOf("code"),
  runner: must("what createCodeRunner of @alkdev/operations/code returns", (value) =>
    isFunction(Object(value)[runFor]),
  ),
  budget: must("a whole number of tokens, at least 50", (value) => isWhole(value, 50) && value <= 10_000_000),
};
/** Which targets there are is known natively. */
const FIELDS: Fields<ToToolsOptions> = {
  target: required(aString),
  identity: anObject,
  include: anything,
  names: aFunction,
  api: oneOf("responses", "chat"),
  maxResultBytes: RESULT_BYTES,
  errors: oneOf("mask", "expose"),
  ...CODE_FIELDS,
};

/**
 * Makes tools for a model from the operations of a registry, and calls the operations for the model.
 *
 * @example
 * ```ts
 * const tools = toTools(registry, { target: "anthropic" });
 * ```
 */
export function toTools<TTarget extends ToolTarget, TApi extends "responses" | "chat" = "responses">(
  registry: OperationRegistry,
  given: ToToolsOptions<TTarget, TApi>,
): Tools<ToolFor<TTarget, TApi>> {
  const options = checkedOptions<ToToolsOptions<TTarget, TApi>>(given, FIELDS, { prefix: "toTools: " });
  const { target, identity } = options;
  const limit = native.toolDescriptionLimit(runtime, target) ?? Number.POSITIVE_INFINITY;
  const maxResultBytes = options.maxResultBytes ?? MAX_RESULT_BYTES;
  const api: "responses" | "chat" = options.api ?? "responses";
  let list: ToolList | undefined;
  let revision: number | undefined;
  const current = (): ToolList => {
    if (list === undefined || revision !== registry.revision) {
      revision = registry.revision;
      list = makeList(registry, options, limit);
    }
    return list;
  };
  current();
  return {
    get tools() {
      return current().tools as ToolFor<TTarget, TApi>[];
    },
    get losses() {
      return current().losses;
    },
    operationOf: (name) => current().byName.get(name)?.id,
    call: async (name, input, context = {}) => {
      const tool = current().byName.get(name);
      const form = { target, api, maxResultBytes, exposesErrors: options.errors === "expose" };
      if (tool === undefined) return unknownTool(name, [...current().byName.keys()], form);
      const full =
        context.identity === undefined && identity !== undefined ? { ...context, identity } : context;
      return callTool(current().registry, tool, input, full, form);
    },
  };
}

/** One tool, and what calling it takes. */
export interface ListedTool extends Candidate {
  readonly name: string;
  readonly description: string;
  readonly projection: CachedProjection;
}

interface ToolList {
  /** What the tools call: the registry itself, or in code mode the three operations over it. */
  readonly registry: OperationRegistry;
  readonly tools: unknown[];
  readonly losses: ToolLoss[];
  readonly byName: Map<string, ListedTool>;
}

/** The tools of a registry as it is now. */
export function makeList(given: OperationRegistry, all: ToToolsOptions, limit: number): ToolList {
  const { registry, options } =
    all.mode === "code" ? inCode(given, all, limit) : { registry: given, options: all };
  const { target, api = "responses" } = options;
  const chosen = candidates(registry, options.include, options.identity);
  const names = namesOf(chosen, options);
  const list: ToolList = { registry, tools: [], losses: [], byName: new Map() };
  for (const [index, { id, spec }] of chosen.entries()) {
    const name = names[index] as string;
    const projection = projectionOf(spec, "inputSchema", target);
    if (!(projection instanceof CachedProjection)) {
      list.losses.push({ operationId: id, ...leftOut(projection) });
      continue;
    }
    for (const loss of projection.losses) list.losses.push({ operationId: id, ...loss });
    const full = describe(id, spec);
    const description = full.length > limit ? `${[...full].slice(0, limit - 1).join("")}…` : full;
    if (description !== full) {
      const message = `its description is longer than ${limit} characters`;
      list.losses.push({ operationId: id, kind: "description", path: "", message });
    }
    const output = outputOf(spec, target);
    list.tools.push(toolOf(target, api, { name, description, spec, input: projection.schema, output }));
    list.byName.set(name, { id, spec, name, description, projection });
  }
  return list;
}

/** Never signatures without what runs them: a runner is needed. */
function inCode(
  given: OperationRegistry,
  { runner, budget, include, ...options }: ToToolsOptions,
  limit: number,
): { registry: OperationRegistry; options: ToToolsOptions } {
  if (runner === undefined)
    throw invalid('mode: "code" needs runner: createCodeRunner(registry) of @alkdev/operations/code');
  const { identity, names = ({ name }: OperationSpec) => name } = options;
  return {
    registry: codeRegistry(given, { runner, budget, include, identity, limit }),
    options: { ...options, names },
  };
}

function namesOf(chosen: readonly Candidate[], { names, target }: ToToolsOptions): string[] {
  const given = chosen.map(({ id, spec }) => {
    const name = names?.(spec);
    if (name === undefined || (typeof name === "string" && name !== "")) return name;
    throw invalid(`names must return a string for ${id}, or undefined`);
  });
  const ids = chosen.map(({ id }) => id);
  return native.toolNames(runtime, ids, given, target);
}

function leftOut(error: CallError): SchemaLoss {
  const { path, reason } = (error.details ?? {}) as { path?: string; reason?: string };
  return { kind: "left-out", path: path ?? "", message: `left out: ${reason ?? error.message}` };
}

function describe(id: string, { description, title, type }: OperationSpec): string {
  const text = description?.trim() || title?.trim() || id;
  return type === "subscription" ? `${text} (A stream: its first events are the result.)` : text;
}

/** The schema of results, where the target has a place for it. What cannot be said of it costs no tool. */
function outputOf(spec: OperationSpec, target: ToolTarget): CachedProjection["schema"] | undefined {
  if (target !== "mcp" && target !== "json-schema") return undefined;
  const projection = projectionOf(spec, "outputSchema", "json-schema");
  return projection instanceof CachedProjection ? projection.schema : undefined;
}
