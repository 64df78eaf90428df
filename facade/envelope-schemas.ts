import type { ForBoth } from "./schema-types.js";
import { Type } from "./type-builder.js";

const AnnotationsSchema = Type.Object(
  {
    audience: Type.Optional(Type.Array(Type.Union([Type.Literal("user"), Type.Literal("assistant")]))),
    priority: Type.Optional(Type.Number()),
    lastModified: Type.Optional(Type.String()),
  },
  { description: "Whom a content block is for, and how important it is" },
);

const ExtensionsSchema = Type.Record(Type.String(), Type.Unknown(), {
  description: "Protocol extensions",
});

const blockExtras = {
  annotations: Type.Optional(AnnotationsSchema),
  _meta: Type.Optional(ExtensionsSchema),
};

const mcpContentBlockSchema = Type.Union(
  [
    Type.Object({ type: Type.Literal("text"), text: Type.String(), ...blockExtras }),
    Type.Object({
      type: Type.Literal("image"),
      data: Type.String({ description: "Base64" }),
      mimeType: Type.String(),
      ...blockExtras,
    }),
    Type.Object({
      type: Type.Literal("audio"),
      data: Type.String({ description: "Base64" }),
      mimeType: Type.String(),
      ...blockExtras,
    }),
    Type.Object({
      type: Type.Literal("resource"),
      resource: Type.Object({
        uri: Type.String(),
        mimeType: Type.Optional(Type.String()),
        text: Type.Optional(Type.String()),
        blob: Type.Optional(Type.String({ description: "Base64" })),
        _meta: Type.Optional(ExtensionsSchema),
      }),
      ...blockExtras,
    }),
    Type.Object({
      type: Type.Literal("resource_link"),
      uri: Type.String(),
      name: Type.String(),
      title: Type.Optional(Type.String()),
      description: Type.Optional(Type.String()),
      mimeType: Type.Optional(Type.String()),
      size: Type.Optional(Type.Number()),
      ...blockExtras,
    }),
  ],
  { description: "A content block of an MCP tool result" },
);

/**
 * One content block of an MCP result.
 *
 * @example
 * ```ts
 * Value.Check(MCPContentBlockSchema, { type: "text", text: "hello" }); // true
 * ```
 */
export const MCPContentBlockSchema: ForBoth<typeof mcpContentBlockSchema> = mcpContentBlockSchema;

const notes = Type.Optional(
  Type.Array(Type.Object({ path: Type.String(), message: Type.String() }), {
    description: "What normalisation filled in, replaced, or could not correct",
  }),
);

const spill = Type.Optional(
  Type.Object(
    {
      path: Type.String({ description: "Where the file is" }),
      bytes: Type.Number({ description: "How long it is" }),
      sha256: Type.String({ description: "Its hash, in hexadecimal digits" }),
      contentType: Type.String({ description: "Content type of what is in it" }),
    },
    { description: "The file that has the whole result; data is its beginning" },
  ),
);

const localResponseMetaSchema = Type.Object(
  {
    source: Type.Literal("local"),
    operationId: Type.String({ description: "namespace.name of the operation" }),
    timestamp: Type.Number({ description: "Unix milliseconds at the moment of wrapping" }),
    spill,
    notes,
  },
  { description: "The result of a handler in this process" },
);

/**
 * `meta` of a result that was made in this process.
 *
 * @example
 * ```ts
 * Value.Check(LocalResponseMetaSchema, envelope.meta);
 * ```
 */
export const LocalResponseMetaSchema: ForBoth<typeof localResponseMetaSchema> = localResponseMetaSchema;

const httpResponseMetaSchema = Type.Object(
  {
    source: Type.Literal("http"),
    statusCode: Type.Number({ description: "HTTP status" }),
    headers: Type.Record(Type.String(), Type.String(), {
      description: "Response headers, names in lower case, repeated ones joined by a comma",
    }),
    contentType: Type.String({ description: "Content type of the body" }),
    spill,
    sse: Type.Optional(
      Type.Object(
        {
          event: Type.String({ description: "Event type" }),
          id: Type.String({ description: "Last event id" }),
          retry: Type.Optional(Type.Number({ description: "Reconnection time in milliseconds" })),
        },
        { description: "On events of a stream: what the frame said about itself" },
      ),
    ),
    notes,
  },
  { description: "The result of an HTTP request" },
);

/**
 * `meta` of an HTTP response, or of one event of a stream.
 *
 * @example
 * ```ts
 * Value.Check(HTTPResponseMetaSchema, envelope.meta);
 * ```
 */
export const HTTPResponseMetaSchema: ForBoth<typeof httpResponseMetaSchema> = httpResponseMetaSchema;

const mcpResponseMetaSchema = Type.Object(
  {
    source: Type.Literal("mcp"),
    isError: Type.Boolean({ description: "The tool ran and says that it failed" }),
    content: Type.Array(mcpContentBlockSchema, { description: "All content blocks" }),
    structuredContent: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: "The structured result, as the server sent it",
      }),
    ),
    _meta: Type.Optional(ExtensionsSchema),
    spill,
    notes,
  },
  { description: "The result of an MCP tool" },
);

/**
 * `meta` of an MCP tool result.
 *
 * @example
 * ```ts
 * Value.Check(MCPResponseMetaSchema, envelope.meta);
 * ```
 */
export const MCPResponseMetaSchema: ForBoth<typeof mcpResponseMetaSchema> = mcpResponseMetaSchema;

const responseMetaSchema = Type.Union(
  [localResponseMetaSchema, httpResponseMetaSchema, mcpResponseMetaSchema],
  { description: "Where a result came from, distinguished by source" },
);

/**
 * `meta` of any result.
 *
 * @example
 * ```ts
 * Value.Check(ResponseMetaSchema, envelope.meta);
 * ```
 */
export const ResponseMetaSchema: ForBoth<typeof responseMetaSchema> = responseMetaSchema;

const responseEnvelopeSchema = Type.Object(
  {
    data: Type.Unknown({ description: "What the operation produced" }),
    meta: responseMetaSchema,
  },
  { description: "A result and where it came from" },
);

/**
 * What every call returns.
 *
 * @example
 * ```ts
 * Value.Check(ResponseEnvelopeSchema, JSON.parse(text));
 * ```
 */
export const ResponseEnvelopeSchema: ForBoth<typeof responseEnvelopeSchema> = responseEnvelopeSchema;
