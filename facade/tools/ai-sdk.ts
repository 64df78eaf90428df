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
import { type ApprovedCall, approvedCall } from "../registry/approval-client.js";
import { needsApproval as needsApprovalOf } from "../registry/approval-gate.js";
import { TOOL } from "../registry/call.js";
import { canonicalJson } from "../registry/canonical-json.js";
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
import { approvalOf, type ResultForm, resultOf, resultOfError, within } from "./result.js";
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
  const contextFor = (call: AISDKToolCall): OperationContext => {
    const given: CallContext = typeof context === "function" ? context(call) : (context ?? {});
    // A model is never trusted for being called directly.
    const made = copyForOutside(given);
    if (made.identity === undefined && identity !== undefined) made.identity = identity as never;
    if (call.abortSignal !== undefined) made.signal = call.abortSignal;
    if (made.env === undefined) offerEnv(registry, made);
    return made;
  };
  const restored = (input: unknown) => projection.restore(input ?? {});
  const isGated = registry.entry(tool.id)?.isGated === true;
  const mustAsk = async (input: unknown, call: AISDKToolCall) =>
    isGated && needsApprovalOf(registry, tool.id, restored(input), contextFor(call));
  const approvals =
    isGated || (needsApproval !== undefined && needsApproval !== false)
      ? new Approvals(spec, needsApproval ?? false, mustAsk)
      : undefined;
  const contextOf = async (input: unknown, call: AISDKToolCall): Promise<OperationContext> => {
    const isApproved = await approvals?.passed(input, call);
    const made = contextFor(call);
    if (isGated && isApproved === true) {
      const approved: ApprovedCall = {
        operationId: tool.id,
        input: canonicalJson(restored(input), "input"),
        isUsed: false,
      };
      Object.assign(made, { [approvedCall]: approved });
    }
    return made;
  };
  const execute =
    spec.type === OperationType.SUBSCRIPTION
      ? (input: unknown, call: AISDKToolCall) =>
          streamed(registry, tool, restored(input), contextOf(input, call), form)
      : async (input: unknown, call: AISDKToolCall) => {
          let made: OperationContext = {};
          try {
            made = await contextOf(input, call);
            return outputOf(await registry.execute(tool.id, restored(input), made, TOOL), form);
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

/** What the AI SDK was answered about a call. */
interface Asked {
  readonly isNeeded: boolean;
  /** What would be called. */
  readonly input: string | undefined;
}

/** Which calls need approval: those of `needsApproval`, and those that the registry asks about. Version 5 of the AI SDK does not
 * ask: there, such a call is refused. */
class Approvals {
  readonly #spec: OperationSpec;
  readonly #needed: Exclude<AISDKToolsOptions["needsApproval"], undefined>;
  readonly #mustAsk: (input: unknown, call: AISDKToolCall) => Promise<boolean>;
  /** The calls that the AI SDK asked about: it makes them only once they are approved. */
  readonly #requested = new Map<string, Asked>();

  constructor(
    spec: OperationSpec,
    needed: Exclude<AISDKToolsOptions["needsApproval"], undefined>,
    mustAsk: (input: unknown, call: AISDKToolCall) => Promise<boolean>,
  ) {
    this.#spec = spec;
    this.#needed = needed;
    this.#mustAsk = mustAsk;
  }

  async request(input: unknown, call: AISDKToolCall): Promise<boolean> {
    const isNeeded = (await this.#isNeeded(input)) || (await this.#mustAsk(input, call));
    this.#requested.set(call.toolCallId, { isNeeded, input: textOrNothing(input) });
    // A program that runs for long does not remember all of them; the messages show it as well.
    if (this.#requested.size > 10_000) this.#requested.delete(this.#requested.keys().next().value as string);
    return isNeeded;
  }

  /** Whether a person has approved a call. Throws if `needsApproval` wants that, and neither was it approved nor its approval
   * requested. */
  async passed(input: unknown, { toolCallId, messages }: AISDKToolCall): Promise<boolean> {
    const asked = this.#requested.get(toolCallId);
    this.#requested.delete(toolCallId);
    if (asked !== undefined) return asked.isNeeded && asked.input === textOrNothing(input);
    if (hasApproval(messages, toolCallId)) return true;
    if (!(await this.#isNeeded(input))) return false;
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

function textOrNothing(input: unknown): string | undefined {
  try {
    return canonicalJson(input, "input");
  } catch {
    return undefined;
  }
}

/** Whether the last message approves this call: the AI SDK then makes those that are approved, and no others. */
function hasApproval(messages: unknown, toolCallId: string): boolean {
  const list: unknown[] = Array.isArray(messages) ? messages : [];
  const asked = list
    .flatMap(partsIn)
    .filter((part) => part?.type === "tool-approval-request" && part.toolCallId === toolCallId)
    .map((part) => part?.approvalId);
  const isApproved = (part: MessagePart) =>
    part?.type === "tool-approval-response" && part.approved === true && asked.includes(part.approvalId);
  const last = list.at(-1);
  return Object(last).role === "tool" && partsIn(last).some(isApproved);
}

type MessagePart =
  | Partial<Record<"type" | "toolCallId" | "approvalId" | "approved", unknown>>
  | null
  | undefined;

function partsIn(message: unknown): MessagePart[] {
  const { content } = Object(message) as { content?: unknown };
  return Array.isArray(content) ? content : [];
}

/** The events of a stream, growing: each list is a preliminary result, and the last one is the result. */
async function* streamed(
  registry: OperationRegistry,
  { id, spec }: ListedTool,
  input: unknown,
  making: Promise<OperationContext>,
  form: ResultForm,
): AsyncGenerator<AISDKToolOutput<unknown>> {
  const events: unknown[] = [];
  let bytes = 0;
  let context: OperationContext = {};
  try {
    context = await making;
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
  const approval = approvalOf(error);
  const made = new CallError(code, text, approval && { approval });
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
