// Operations as tools of the AI SDK (`ai` 5, 6 and 7). Nothing of it is imported: its tools are plain objects, and it
// knows schemas by a symbol that all versions share.

import type { MCPContentBlock, ResponseEnvelope } from "../envelope.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import {
  aFunction,
  anObject,
  anything,
  aString,
  checkedOptions,
  type Fields,
  must,
  oneOf,
} from "../interop/options.js";
import { TOOL } from "../registry/call.js";
import { offerEnv } from "../registry/offered-env.js";
import { copyForOutside } from "../registry/origin.js";
import type { OperationRegistry } from "../registry/registry.js";
import { native, runtime } from "../runtime.js";
import { type CallContext, type OperationContext, type OperationSpec, OperationType } from "../types.js";
import {
  type AISDKTool,
  type AISDKToolCall,
  type AISDKToolContent,
  type AISDKToolOutput,
  type AISDKTools,
  type AISDKToolsOptions,
  type AnyAISDKTools,
  schemaFor,
} from "./ai-sdk-types.js";
import { listened, MAX_EVENTS } from "./call.js";
import { blocksOf, type ContentPart, partsOf } from "./parts.js";
import { type ResultForm, resultOf, resultOfError, within } from "./result.js";
import type { ToolTarget } from "./targets.js";
import {
  CODE_FIELDS,
  type ListedTool,
  MAX_RESULT_BYTES,
  makeList,
  RESULT_BYTES,
  type ToToolsOptions,
} from "./to-tools.js";

const FIELDS: Fields<AISDKToolsOptions> = {
  target: aString,
  identity: anObject,
  include: anything,
  names: aFunction,
  maxResultBytes: RESULT_BYTES,
  errors: oneOf("mask", "expose"),
  needsApproval: must(
    "a boolean or a function",
    (value) => typeof value === "boolean" || typeof value === "function",
  ),
  context: must("an object or a function", (value) => Object(value) === value),
  ...CODE_FIELDS,
};

/**
 * Makes tools for the AI SDK (`ai` 5, 6 or 7) from the operations of a registry.
 *
 * @example
 * ```ts
 * const tools = toAISDKTools(registry, { identity, needsApproval: (spec) => spec.type === "mutation" });
 * // generateText({ model, tools, prompt })
 * ```
 */
export function toAISDKTools<TOperations>(
  registry: OperationRegistry<TOperations>,
  options?: Omit<AISDKToolsOptions, "include" | "names" | "mode">,
): AISDKTools<TOperations>;
export function toAISDKTools(registry: OperationRegistry, options: AISDKToolsOptions): AnyAISDKTools;
export function toAISDKTools(registry: OperationRegistry, given: AISDKToolsOptions = {}): AnyAISDKTools {
  const options = checkedOptions<AISDKToolsOptions>(given, FIELDS, { prefix: "toAISDKTools: " });
  const target: ToolTarget = options.target ?? "json-schema";
  const limit = native.toolDescriptionLimit(runtime, target) ?? Number.POSITIVE_INFINITY;
  const { identity, include, names, mode, runner, budget } = options;
  const wanted = { target, identity, include, names, mode, runner, budget } as ToToolsOptions;
  const list = makeList(registry, wanted, limit);
  const form: ResultForm = {
    target: "mcp",
    api: "responses",
    maxResultBytes: options.maxResultBytes ?? MAX_RESULT_BYTES,
    exposesErrors: options.errors === "expose",
  };
  const tools: AnyAISDKTools = {};
  for (const tool of list.byName.values()) tools[tool.name] = toolFor(list.registry, tool, options, form);
  return tools;
}

function toolFor(
  registry: OperationRegistry,
  tool: ListedTool,
  { identity, context, needsApproval }: AISDKToolsOptions,
  form: ResultForm,
): AISDKTool {
  const { spec, projection } = tool;
  const approvals =
    needsApproval === undefined || needsApproval === false ? undefined : new Approvals(spec, needsApproval);
  const contextFor = (call: AISDKToolCall): OperationContext => {
    const given: CallContext = typeof context === "function" ? context(call) : (context ?? {});
    // A model is never trusted for being called directly.
    const made = copyForOutside(given);
    if (made.identity === undefined && identity !== undefined) made.identity = identity as never;
    if (call.abortSignal !== undefined) made.signal = call.abortSignal;
    if (made.env === undefined) offerEnv(registry, made);
    return made;
  };
  const execute =
    spec.type === OperationType.SUBSCRIPTION
      ? (input: unknown, call: AISDKToolCall) =>
          streamed(
            registry,
            tool,
            projection.restore(input ?? {}),
            contextFor(call),
            form,
            approvals?.passed(input, call),
          )
      : async (input: unknown, call: AISDKToolCall) => {
          let made: OperationContext = {};
          try {
            await approvals?.passed(input, call);
            made = contextFor(call);
            return outputOf(
              await registry.execute(tool.id, projection.restore(input ?? {}), made, TOOL),
              form,
            );
          } catch (error) {
            throw forModel(error, spec, form, made);
          }
        };
  return {
    description: tool.description,
    ...(spec.title === undefined ? {} : { title: spec.title }),
    inputSchema: schemaFor(() => projection.schema),
    execute,
    toModelOutput: (given: unknown) => modelOutput(given, form),
    ...(approvals === undefined
      ? {}
      : { needsApproval: (input: unknown, call: AISDKToolCall) => approvals.request(input, call) }),
  } as AISDKTool;
}

/** Which calls need approval. Version 5 of the AI SDK does not ask: there, such a call is refused. */
class Approvals {
  readonly #spec: OperationSpec;
  readonly #needed: Exclude<AISDKToolsOptions["needsApproval"], undefined>;
  /** The calls that the AI SDK asked about: it makes them only once they are approved. */
  readonly #requested = new Set<string>();

  constructor(spec: OperationSpec, needed: Exclude<AISDKToolsOptions["needsApproval"], undefined>) {
    this.#spec = spec;
    this.#needed = needed;
  }

  async request(input: unknown, { toolCallId }: AISDKToolCall): Promise<boolean> {
    this.#requested.add(toolCallId);
    // A program that runs for long does not remember all of them; the messages show it as well.
    if (this.#requested.size > 10_000)
      this.#requested.delete(this.#requested.values().next().value as string);
    return this.#isNeeded(input);
  }

  /** Throws if a call was neither approved nor was its approval requested. */
  async passed(input: unknown, { toolCallId, messages }: AISDKToolCall): Promise<void> {
    if (this.#requested.delete(toolCallId) || hasApproval(messages) || !(await this.#isNeeded(input))) return;
    throw new CallError(
      InfrastructureErrorCode.ACCESS_DENIED,
      `The call of ${this.#spec.namespace}.${this.#spec.name} needs approval, which was not requested. Version 5 of the AI SDK cannot ask`,
    );
  }

  async #isNeeded(input: unknown): Promise<boolean> {
    return typeof this.#needed === "function"
      ? (await this.#needed(this.#spec, input)) === true
      : this.#needed;
  }
}

/** Whether the last message approves a call: the AI SDK then makes those that are approved, and no others. */
function hasApproval(messages: unknown): boolean {
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
  const { role, content } = Object(last) as { role?: unknown; content?: unknown };
  return (
    role === "tool" &&
    Array.isArray(content) &&
    content.some((part) => part?.type === "tool-approval-response" && part.approved === true)
  );
}

/** The events of a stream, growing: each list is a preliminary result, and the last one is the result. */
async function* streamed(
  registry: OperationRegistry,
  { id, spec }: ListedTool,
  input: unknown,
  context: OperationContext,
  form: ResultForm,
  approved: Promise<void> | undefined,
): AsyncGenerator<AISDKToolOutput<unknown>> {
  const events: unknown[] = [];
  let bytes = 0;
  try {
    await approved;
    for await (const { data } of listened(registry, id, input, context)) {
      events.push(data);
      bytes += JSON.stringify(data)?.length ?? 0;
      yield { data: [...events] };
      if (events.length >= MAX_EVENTS || bytes >= form.maxResultBytes) return;
    }
    if (events.length === 0) yield { data: [] };
  } catch (error) {
    throw forModel(error, spec, form, context);
  }
}

/** What a tool gives: data, and what a model sees that is more than data. */
function outputOf(envelope: ResponseEnvelope, form: ResultForm): AISDKToolOutput<unknown> {
  const { isError, content } = resultOf(envelope, form);
  if (isError) throw new CallError(InfrastructureErrorCode.EXECUTION_ERROR, textOf(content));
  const blocks = blocksOf(envelope);
  const isBytes = ArrayBuffer.isView(envelope.data) || envelope.data instanceof ArrayBuffer;
  return {
    ...(isBytes ? {} : { data: envelope.data }),
    ...(blocks === undefined ? {} : { content: blocks }),
  };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return (content as MCPContentBlock[])
    .map((block) => (block.type === "text" ? block.text : `[${block.type}]`))
    .join("\n");
}

/** An error whose message is meant for a model. The original is its cause. */
function forModel(
  error: unknown,
  spec: OperationSpec,
  form: ResultForm,
  context: OperationContext,
): CallError {
  const text = textOf(resultOfError(error, spec, form, context).content);
  const code = error instanceof CallError ? error.code : InfrastructureErrorCode.EXECUTION_ERROR;
  const made = new CallError(code, text);
  made.cause = error;
  return made;
}

/** The result as the model gets it. Version 5 hands the output over, later ones an object that has it. */
function modelOutput(given: unknown, form: ResultForm): AISDKToolContent {
  const isWrapped = Object.hasOwn(Object(given), "toolCallId") && Object.hasOwn(Object(given), "output");
  const output = (isWrapped ? (given as { output: unknown }).output : given) as AISDKToolOutput<unknown>;
  const meta = { source: "local", operationId: "", timestamp: 0 } as const;
  const blocks = Array.isArray(output?.content) ? output.content : undefined;
  const envelope = (
    blocks === undefined
      ? { data: output?.data, meta }
      : { data: output?.data, meta: { ...meta, source: "mcp", isError: false, content: blocks } }
  ) as ResponseEnvelope;
  const parts = within(partsOf(envelope), form.maxResultBytes);
  if (parts.every(({ type }) => type === "text")) {
    return { type: "text", value: parts.map((part) => (part as { text: string }).text).join("\n") };
  }
  // Version 5 knows media by another name; later ones still take it.
  return { type: "content", value: parts.map((part) => contentOf(part, isWrapped)) };
}

function contentOf(part: ContentPart, isNew: boolean): { type: string; [member: string]: unknown } {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type === "link") return { type: "text", text: `[${part.block.name}: ${part.block.uri}]` };
  const { mimeType, data } = part;
  if (!isNew) return { type: "media", data, mediaType: mimeType };
  return { type: mimeType.startsWith("image/") ? "image-data" : "file-data", data, mediaType: mimeType };
}
