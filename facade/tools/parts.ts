// An envelope as texts and media, before they are written for a target.

import type { MCPContentBlock, ResponseEnvelope } from "../envelope.js";

/** A part of a result. */
export type ContentPart =
  | { type: "text"; text: string; isJson?: boolean }
  | { type: "media"; mimeType: string; data: string }
  | { type: "link"; block: Extract<MCPContentBlock, { type: "resource_link" }> };

/** Media above this are described, not shown. */
const MAX_MEDIA_BYTES = 5 * 1024 * 1024;

export function partsOf({ data, meta }: ResponseEnvelope): ContentPart[] {
  if (meta.spill !== undefined) {
    const { path, bytes, contentType } = meta.spill;
    const note = `[The whole result, ${bytes} bytes of ${contentType}, is in the file ${path}]`;
    return [
      { type: "text", text: note },
      { type: "text", text: String(data) },
    ];
  }
  const isMCP = meta.source === "mcp" && meta.content.length > 0;
  const parts = isMCP ? meta.content.map(partOfBlock) : [partOfData(data, contentTypeOf(meta))];
  return parts.map((part) => (part.type === "media" ? bounded(part) : part));
}

/** The content blocks of a result that is more than data: those of an MCP tool, or a binary one as a block. */
export function blocksOf({ data, meta }: ResponseEnvelope): MCPContentBlock[] | undefined {
  if (meta.source === "mcp" && meta.content.some(({ type }) => type !== "text")) return [...meta.content];
  const bytes = bytesOf(data);
  if (bytes === undefined) return undefined;
  const mimeType = contentTypeOf(meta) || "application/octet-stream";
  const text = Buffer.from(bytes).toString("base64");
  if (mimeType.startsWith("image/")) return [{ type: "image", data: text, mimeType }];
  if (mimeType.startsWith("audio/")) return [{ type: "audio", data: text, mimeType }];
  return [{ type: "resource", resource: { uri: "result:", mimeType, blob: text } }];
}

function contentTypeOf(meta: ResponseEnvelope["meta"]): string | undefined {
  return meta.source === "http" ? meta.contentType.split(";", 1)[0]?.trim().toLowerCase() : undefined;
}

function partOfBlock(block: MCPContentBlock): ContentPart {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "image":
    case "audio":
      return { type: "media", mimeType: block.mimeType, data: block.data };
    case "resource_link":
      return { type: "link", block };
    case "resource": {
      const { text, blob, mimeType, uri } = block.resource;
      if (typeof text === "string") return { type: "text", text };
      if (typeof blob === "string") {
        return { type: "media", mimeType: mimeType ?? "application/octet-stream", data: blob };
      }
      return { type: "text", text: `[${uri}]` };
    }
  }
}

function partOfData(data: unknown, contentType: string | undefined): ContentPart {
  if (data === undefined) return { type: "text", text: "Done. There is no content." };
  if (typeof data === "string") return { type: "text", text: data };
  const bytes = bytesOf(data);
  if (bytes !== undefined) {
    const mimeType = contentType || "application/octet-stream";
    return { type: "media", mimeType, data: Buffer.from(bytes).toString("base64") };
  }
  return { type: "text", text: jsonText(data), isJson: true };
}

function bytesOf(data: unknown): Uint8Array | undefined {
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return undefined;
}

/** JSON of any value: what JSON does not have is written so that a model understands it. */
function jsonText(data: unknown): string {
  const open: object[] = [];
  const replacer = function (this: unknown, _key: string, value: unknown): unknown {
    if (typeof value === "bigint") return value.toString();
    if (typeof value !== "object" || value === null) return value;
    const bytes = bytesOf(value);
    if (bytes !== undefined) return `[${bytes.length} bytes]`;
    if (value instanceof Map) return Object.fromEntries(value);
    if (value instanceof Set) return [...value];
    // The containers around the value: what contains itself is cut.
    while (open.length > 0 && open[open.length - 1] !== this) open.pop();
    if (open.includes(value)) return "[contains itself]";
    open.push(value);
    return value;
  };
  try {
    return JSON.stringify(data, replacer) ?? String(data);
  } catch {
    return "[a value that cannot be written as JSON]";
  }
}

function bounded(part: Extract<ContentPart, { type: "media" }>): ContentPart {
  const bytes = Math.floor((part.data.length * 3) / 4);
  if (bytes <= MAX_MEDIA_BYTES) return part;
  return { type: "text", text: `[${part.mimeType}, ${bytes} bytes: too large to be shown]` };
}
