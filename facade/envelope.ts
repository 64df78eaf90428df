/**
 * Where results come from.
 *
 * @example
 * ```ts
 * RESPONSE_SOURCES.includes(envelope.meta.source); // true
 * ```
 */
export const RESPONSE_SOURCES = ["local", "http", "mcp"] as const;

/**
 * The values of `meta.source`.
 *
 * @example
 * ```ts
 * const source: ResponseSource = "mcp";
 * ```
 */
export type ResponseSource = (typeof RESPONSE_SOURCES)[number];

/**
 * A result and where it came from.
 *
 * @example
 * ```ts
 * const envelope: ResponseEnvelope<{ greeting: string }> = localEnvelope({ greeting: "Hello" }, "demo.greet");
 * ```
 */
export interface ResponseEnvelope<T = unknown, M extends ResponseMeta = ResponseMeta> {
  data: T;
  meta: M;
}

/**
 * The metadata of a result. `source` says which kind it is.
 *
 * @example
 * ```ts
 * if (envelope.meta.source === "http") console.log(envelope.meta.statusCode);
 * ```
 */
export type ResponseMeta = LocalResponseMeta | HTTPResponseMeta | MCPResponseMeta;

/**
 * Metadata of a result that was made in this process.
 *
 * @example
 * ```ts
 * if (envelope.meta.source === "local") {
 *   const meta: LocalResponseMeta = envelope.meta;
 *   console.log(meta.operationId, new Date(meta.timestamp));
 * }
 * ```
 */
export interface LocalResponseMeta {
  source: "local";
  /** `namespace.name` of the operation. */
  operationId: string;
  /** Unix milliseconds at the moment of wrapping. */
  timestamp: number;
  /** The file with the whole result, if the result was large and `spill` is set. `data` is then its beginning. */
  spill?: SpilledResult;
  /** What normalisation filled in, replaced, or could not correct. */
  notes?: ResponseNote[];
}

/**
 * Metadata of an HTTP response, or of one event of a stream.
 *
 * @example
 * ```ts
 * if (envelope.meta.source === "http") {
 *   const meta: HTTPResponseMeta = envelope.meta;
 *   console.log(meta.statusCode, meta.headers["x-request-id"]);
 * }
 * ```
 */
export interface HTTPResponseMeta {
  source: "http";
  statusCode: number;
  /** Names in lower case, repeated headers joined by `", "`. */
  headers: Record<string, string>;
  contentType: string;
  /** On events of a stream: type, id and retry time of the event. */
  sse?: { event: string; id: string; retry?: number };
  /** The file with the whole result, if the result was large and `spill` is set. `data` is then its beginning. */
  spill?: SpilledResult;
  /** What normalisation filled in, replaced, or could not correct. */
  notes?: ResponseNote[];
}

/**
 * A result in a file of this machine.
 *
 * @example
 * ```ts
 * if (envelope.meta.spill !== undefined) {
 *   const { path, bytes }: SpilledResult = envelope.meta.spill;
 *   console.log(`${bytes} bytes in ${path}`);
 * }
 * ```
 */
export interface SpilledResult {
  path: string;
  bytes: number;
  /** In hexadecimal digits. */
  sha256: string;
  contentType: string;
}

/**
 * A value in `data` that was not sent, or that does not match the schema. `path` is a JSON Pointer.
 *
 * @example
 * ```ts
 * const notes: ResponseNote[] = envelope.meta.notes ?? [];
 * for (const { path, message } of notes) console.warn(`${path}: ${message}`);
 * ```
 */
export interface ResponseNote {
  path: string;
  message: string;
}

/**
 * Metadata of the result of an MCP tool.
 *
 * @example
 * ```ts
 * if (envelope.meta.source === "mcp") {
 *   const meta: MCPResponseMeta = envelope.meta;
 *   if (meta.isError) console.warn(meta.content);
 * }
 * ```
 */
export interface MCPResponseMeta {
  source: "mcp";
  /** Whether the tool reported a failure. */
  isError: boolean;
  /** All content blocks. */
  content: MCPContentBlock[];
  /** The structured result, as the server sent it. */
  structuredContent?: Record<string, unknown>;
  /** Protocol extensions. */
  _meta?: Record<string, unknown>;
  /** The file with the whole result, if the result was large and `spill` is set. `data` is then its beginning. */
  spill?: SpilledResult;
  /** What normalisation filled in, replaced, or could not correct. */
  notes?: ResponseNote[];
}

/**
 * A part of an MCP result: a text, an image, audio, a resource or a link to a resource.
 *
 * @example
 * ```ts
 * const block: MCPContentBlock = { type: "text", text: "hello" };
 * ```
 */
export type MCPContentBlock =
  | (MCPBlockExtras & { type: "text"; text: string })
  | (MCPBlockExtras & { type: "image"; data: string; mimeType: string })
  | (MCPBlockExtras & { type: "audio"; data: string; mimeType: string })
  | (MCPBlockExtras & { type: "resource"; resource: MCPResourceContent })
  | (MCPBlockExtras & {
      type: "resource_link";
      uri: string;
      name: string;
      title?: string;
      description?: string;
      mimeType?: string;
      size?: number;
    });

interface MCPBlockExtras {
  annotations?: MCPAnnotations;
  _meta?: Record<string, unknown>;
}

/**
 * What an embedded resource holds: `text`, or base64 in `blob`.
 *
 * @example
 * ```ts
 * const resource: MCPResourceContent = { uri: "file:///notes.md", mimeType: "text/markdown", text: "# Notes" };
 * ```
 */
export interface MCPResourceContent {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
  _meta?: Record<string, unknown>;
}

/**
 * The audience of a content block, and its priority (0 to 1).
 *
 * @example
 * ```ts
 * const annotations: MCPAnnotations = { audience: ["user"], priority: 0.8 };
 * ```
 */
export interface MCPAnnotations {
  audience?: Array<"user" | "assistant">;
  priority?: number;
  lastModified?: string;
}

/**
 * Wraps a value that was made in this process.
 *
 * @example
 * ```ts
 * localEnvelope({ id: 1 }, "tasks.create").meta; // { source: "local", operationId: "tasks.create", timestamp: ... }
 * ```
 */
export function localEnvelope<T>(data: T, operationId: string): ResponseEnvelope<T> {
  return { data, meta: { source: "local", operationId, timestamp: Date.now() } };
}

/**
 * Wraps the body of an HTTP response, or an event of a stream.
 *
 * @example
 * ```ts
 * const envelope = httpEnvelope(await response.json(), {
 *   statusCode: response.status,
 *   headers: Object.fromEntries(response.headers),
 *   contentType: "application/json",
 * });
 * envelope.meta.statusCode; // the type of `meta` is known
 * ```
 */
export function httpEnvelope<T>(
  data: T,
  meta: Omit<HTTPResponseMeta, "source">,
): ResponseEnvelope<T, HTTPResponseMeta> {
  return { data, meta: { ...meta, source: "http" } };
}

/**
 * Wraps the result of an MCP tool.
 *
 * @example
 * ```ts
 * mcpEnvelope({ total: 3 }, { isError: false, content: [{ type: "text", text: "3" }] });
 * ```
 */
export function mcpEnvelope<T>(
  data: T,
  meta: Omit<MCPResponseMeta, "source">,
): ResponseEnvelope<T, MCPResponseMeta> {
  return { data, meta: { ...meta, source: "mcp" } };
}

/**
 * Whether a value is an envelope: `data` and `meta` are there, `meta.source` is a known word, and
 * the fields which that source requires have the right type. Works on JSON that came over a wire.
 *
 * @example
 * ```ts
 * const value: unknown = JSON.parse(text);
 * if (isResponseEnvelope(value)) console.log(value.meta.source, value.data);
 * ```
 */
export function isResponseEnvelope(value: unknown): value is ResponseEnvelope {
  if (typeof value !== "object" || value === null) return false;
  if (!("data" in value) || !("meta" in value)) return false;
  const { meta } = value;
  if (typeof meta !== "object" || meta === null) return false;
  const fields = meta as Record<string, unknown>;
  switch (fields.source) {
    case "local":
      return typeof fields.operationId === "string" && typeof fields.timestamp === "number";
    case "http":
      return (
        typeof fields.statusCode === "number" &&
        typeof fields.contentType === "string" &&
        typeof fields.headers === "object" &&
        fields.headers !== null &&
        !Array.isArray(fields.headers)
      );
    case "mcp":
      return typeof fields.isError === "boolean" && Array.isArray(fields.content);
    default:
      return false;
  }
}

/**
 * The value without its metadata.
 *
 * @example
 * ```ts
 * const greeting = unwrap(await registry.execute("demo.greet", { name: "Ada" }));
 * ```
 */
export function unwrap<T>(envelope: ResponseEnvelope<T>): T {
  return envelope.data;
}
