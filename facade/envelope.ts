/** Where results come from. */
export const RESPONSE_SOURCES = ["local", "http", "mcp"] as const;

export type ResponseSource = (typeof RESPONSE_SOURCES)[number];

/** A result and where it came from. */
export interface ResponseEnvelope<T = unknown, M extends ResponseMeta = ResponseMeta> {
  data: T;
  meta: M;
}

/** Told apart by `source`. */
export type ResponseMeta = LocalResponseMeta | HTTPResponseMeta | MCPResponseMeta;

/** A handler in this process. */
export interface LocalResponseMeta {
  source: "local";
  /** `namespace.name` of the operation. */
  operationId: string;
  /** Unix milliseconds at the moment of wrapping. */
  timestamp: number;
  /** What normalisation made up or replaced, or could not make right. */
  notes?: ResponseNote[];
}

/** An HTTP response, or one event of a stream of them. */
export interface HTTPResponseMeta {
  source: "http";
  statusCode: number;
  /** Names in lower case, repeated headers joined by `", "`. */
  headers: Record<string, string>;
  contentType: string;
  /** On events of a stream: what the frame said about itself. */
  sse?: { event: string; id: string; retry?: number };
  /** What normalisation made up or replaced, or could not make right. */
  notes?: ResponseNote[];
}

/** Something in `data` that nobody sent, or that is not as declared; `path` is a JSON Pointer. */
export interface ResponseNote {
  path: string;
  message: string;
}

/** The result of an MCP tool. */
export interface MCPResponseMeta {
  source: "mcp";
  /** The tool ran and says that it failed. */
  isError: boolean;
  /** All content blocks. */
  content: MCPContentBlock[];
  /** The structured result, as the server sent it. */
  structuredContent?: Record<string, unknown>;
  /** Protocol extensions. */
  _meta?: Record<string, unknown>;
  /** What normalisation made up or replaced, or could not make right. */
  notes?: ResponseNote[];
}

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

export interface MCPResourceContent {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
  _meta?: Record<string, unknown>;
}

export interface MCPAnnotations {
  audience?: Array<"user" | "assistant">;
  priority?: number;
  lastModified?: string;
}

/** Wraps a value that was made in this process. */
export function localEnvelope<T>(data: T, operationId: string): ResponseEnvelope<T> {
  return { data, meta: { source: "local", operationId, timestamp: Date.now() } };
}

/** Wraps the body of an HTTP response, or an event of a stream. */
export function httpEnvelope<T>(
  data: T,
  meta: Omit<HTTPResponseMeta, "source">,
): ResponseEnvelope<T, HTTPResponseMeta> {
  return { data, meta: { ...meta, source: "http" } };
}

/** Wraps the result of an MCP tool. */
export function mcpEnvelope<T>(
  data: T,
  meta: Omit<MCPResponseMeta, "source">,
): ResponseEnvelope<T, MCPResponseMeta> {
  return { data, meta: { ...meta, source: "mcp" } };
}

/**
 * Whether a value is an envelope: `data` and `meta` are there, `meta.source` is a known word, and
 * the fields which that source requires have the right type. Works on JSON that came over a wire.
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

/** The value without its metadata. */
export function unwrap<T>(envelope: ResponseEnvelope<T>): T {
  return envelope.data;
}
