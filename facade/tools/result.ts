// The result of a call, for a model.

import { withoutStderr } from "../call/masked-details.js";
import type { MCPContentBlock, ResponseEnvelope } from "../envelope.js";
import { CallError, InfrastructureErrorCode, isInternal, mapError } from "../errors.js";
import { APPROVAL_REQUIRED } from "../registry/approvals.js";
import { logFailure } from "../registry/failure-log.js";
import { native } from "../runtime.js";
import type { OperationContext, OperationSpec } from "../types.js";
import { type ContentPart, partsOf } from "./parts.js";
import type { ToolTarget } from "./targets.js";

/**
 * A block in the form of the target's API.
 *
 * @example
 * ```ts
 * const block: ToolContentBlock = { type: "text", text: "12 tasks" };
 * ```
 */
export type ToolContentBlock =
  | { type: "text"; text: string }
  | { type: "input_text"; text: string }
  | { type: "input_image"; image_url: string }
  | { type: "input_file"; filename: string; file_data: string }
  | { type: "image" | "document"; source: { type: "base64"; media_type: string; data: string } }
  | { text: string }
  | { inlineData: { mimeType: string; data: string } }
  | MCPContentBlock;

/**
 * A text, or content blocks in the form of the target's API.
 *
 * @example
 * ```ts
 * const textOf = (content: ToolContent) => (typeof content === "string" ? content : JSON.stringify(content));
 * ```
 */
export type ToolContent = string | ToolContentBlock[];

/**
 * The result of a tool call, for the model.
 *
 * @example
 * ```ts
 * const { call } = toTools(registry, { target: "anthropic", identity });
 * const { content, isError }: ToolResult = await call("tasks_list", {});
 * ```
 */
export interface ToolResult {
  content: ToolContent;
  /** Whether the call failed. */
  isError: boolean;
  /** The whole result, for the program. Absent when the call threw. */
  envelope?: ResponseEnvelope;
  /** The approval that the call needs: once it is granted, `call(name, input, { approval: id })` makes the call. */
  approval?: { id: string; operationId: string; expires: number; url?: string };
}

/** For whom a result is, and how long it may be. */
export interface ResultForm {
  readonly target: ToolTarget;
  readonly api: "responses" | "chat";
  readonly maxResultBytes: number;
  /** Whether a model reads the messages of exceptions. */
  readonly exposesErrors: boolean;
}

/** Bytes of a message about an error. */
const MAX_ERROR_BYTES = 4_096;

/** The result of a call that was carried out. */
export function resultOf(envelope: ResponseEnvelope, form: ResultForm): ToolResult {
  const isError = envelope.meta.source === "mcp" && envelope.meta.isError === true;
  const parts = within(partsOf(envelope), form.maxResultBytes);
  return { content: written(parts, form), isError, envelope };
}

/** The result of a call that failed. */
export function resultOfError(
  error: unknown,
  spec: OperationSpec | undefined,
  form: ResultForm,
  { requestId }: Pick<OperationContext, "requestId"> = {},
): ToolResult {
  const mapped = mapError(error, spec?.errorSchemas);
  const isMasked = isInternal(mapped) && !form.exposesErrors;
  // What was thrown without being an error is never passed on.
  const isUnknown = mapped.code === InfrastructureErrorCode.UNKNOWN_ERROR;
  if (isMasked || isUnknown) {
    logFailure("tools", { operationId: `${spec?.namespace}.${spec?.name}`, requestId }, error);
  }
  const text = native.messageForModel(isMasked ? `${mapped.code}: The operation failed` : messageOf(mapped));
  const short = native.shortenedText(text, false, Math.min(MAX_ERROR_BYTES, form.maxResultBytes)) ?? text;
  const approval = approvalOf(error);
  const content = written([{ type: "text", text: short }], form);
  return { content, isError: true, ...(approval && { approval }) };
}

/** What a call needs before it can be made. */
export function approvalOf(error: unknown): ToolResult["approval"] {
  if (!(error instanceof CallError) || error.code !== APPROVAL_REQUIRED) return undefined;
  const { approval } = Object(error.details);
  return typeof approval?.id === "string" ? approval : undefined;
}

function messageOf(error: CallError): string {
  // Whatever was thrown, it was not meant to be read.
  if (error.code === InfrastructureErrorCode.UNKNOWN_ERROR) {
    return `${error.code}: the operation failed and did not say why`;
  }
  const body = bodyOf(error.details);
  const { message } = withoutStderr(error.message, error.details);
  return `${error.code}: ${message}${body === undefined ? "" : `\n${body}`}`;
}

/** What a server answered together with an error status: it often says what to do better. */
function bodyOf(details: unknown): string | undefined {
  const { statusCode, body } = Object(details) as { statusCode?: unknown; body?: unknown };
  if (typeof statusCode !== "number" || body === undefined || body === null || body === "") return undefined;
  if (typeof body === "string") return body;
  return ArrayBuffer.isView(body) || body instanceof ArrayBuffer ? undefined : JSON.stringify(body);
}

/** The parts within a number of bytes of text. */
export function within(parts: readonly ContentPart[], max: number): ContentPart[] {
  let room = max;
  return parts.map((part) => {
    if (part.type !== "text") return part;
    const bytes = Buffer.byteLength(part.text);
    if (bytes > room) {
      const short = native.shortenedText(part.text, part.isJson === true, Math.max(room, 64));
      room = 0;
      return { type: "text", text: short ?? part.text };
    }
    room -= bytes;
    return part;
  });
}

function written(parts: readonly ContentPart[], form: ResultForm): ToolContent {
  const blocks = parts.map((part) =>
    part.type === "text" ? part : (mediaFor(part, form) ?? described(part)),
  );
  if (form.target === "mcp") return blocks.map(asMCP);
  const texts = blocks.filter((block) => block.type === "text");
  if (texts.length === blocks.length) return texts.map(({ text }) => text).join("\n");
  return blocks.map((block) => blockFor(block, form));
}

type Media = Exclude<ContentPart, { type: "text" }>;

const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const PDF = "application/pdf";

/** The part itself, if the target takes such a thing as a result. */
function mediaFor(part: Media, { target, api }: ResultForm): Media | undefined {
  if (target === "mcp" || target === "json-schema") return part;
  if (part.type === "link" || api === "chat") return undefined;
  const isImage = IMAGES.has(part.mimeType);
  const isAudio = part.mimeType.startsWith("audio/");
  return isImage || part.mimeType === PDF || (isAudio && target === "gemini") ? part : undefined;
}

/** A part that the target has no form for, in words. */
function described(part: Media): Extract<ContentPart, { type: "text" }> {
  if (part.type === "link") {
    return { type: "text", text: `[${part.block.name}: ${part.block.uri}]` };
  }
  const bytes = Math.floor((part.data.length * 3) / 4);
  return { type: "text", text: `[${part.mimeType}, ${bytes} bytes: cannot be shown here]` };
}

function blockFor(part: ContentPart, { target }: ResultForm): ToolContentBlock {
  if (target === "json-schema") return asMCP(part);
  const isGemini = target === "gemini";
  if (part.type === "text") {
    if (isGemini) return { text: part.text };
    return { type: target === "anthropic" ? "text" : "input_text", text: part.text };
  }
  if (part.type === "link") return { type: "text", text: part.block.uri };
  const { mimeType, data } = part;
  if (isGemini) return { inlineData: { mimeType, data } };
  if (target === "anthropic") {
    const type = mimeType === PDF ? "document" : "image";
    return { type, source: { type: "base64", media_type: mimeType, data } };
  }
  const url = `data:${mimeType};base64,${data}`;
  return mimeType === PDF
    ? { type: "input_file", filename: "result.pdf", file_data: url }
    : { type: "input_image", image_url: url };
}

function asMCP(part: ContentPart): MCPContentBlock {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type === "link") return part.block;
  const { mimeType, data } = part;
  if (mimeType.startsWith("image/")) return { type: "image", data, mimeType };
  if (mimeType.startsWith("audio/")) return { type: "audio", data, mimeType };
  return { type: "resource", resource: { uri: "result:", mimeType, blob: data } };
}
