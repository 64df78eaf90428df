// The schema constants are TypeBox schemas: TypeBox itself says so.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as operations from "@alkdev/operations";
import { Kind, Type, TypeGuard } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

const {
  AccessControlSchema,
  ErrorDefinitionSchema,
  HTTPResponseMetaSchema,
  httpEnvelope,
  LocalResponseMetaSchema,
  localEnvelope,
  MCPContentBlockSchema,
  MCPResponseMetaSchema,
  mcpEnvelope,
  OperationContextSchema,
  OperationDefinitionSchema,
  OperationSpecSchema,
  OperationType,
  ResponseEnvelopeSchema,
  ResponseMetaSchema,
} = operations;

const constants = Object.entries(operations).filter(
  ([name, value]) => name.endsWith("Schema") && typeof value === "object" && Kind in value,
);

describe("every schema constant", () => {
  assert.equal(constants.length, 11);
  for (const [name, schema] of constants) {
    it(`${name} is a TypeBox schema with a description`, () => {
      assert.ok(TypeGuard.IsSchema(schema));
      assert.equal(typeof schema.description, "string");
      assert.ok(schema.description.length > 0);
      // No part of it throws "Unknown type", and JSON keeps it.
      assert.equal(Value.Check(schema, undefined), false);
      assert.equal(typeof JSON.stringify(schema), "string");
    });
  }
});

describe("our builder builds what TypeBox builds", () => {
  it("our builder builds what TypeBox builds for constants with nested, optional, union and record parts", () => {
    const rebuilt = Type.Object(
      {
        source: Type.Literal("local"),
        operationId: Type.String({ description: "namespace.name of the operation" }),
        timestamp: Type.Number({ description: "Unix milliseconds at the moment of wrapping" }),
        notes: Type.Optional(
          Type.Array(Type.Object({ path: Type.String(), message: Type.String() }), {
            description: "What normalisation filled in, replaced, or could not correct",
          }),
        ),
        spill: Type.Optional(
          Type.Object(
            {
              path: Type.String({ description: "Where the file is" }),
              bytes: Type.Number({ description: "How long it is" }),
              sha256: Type.String({ description: "Its hash, in hexadecimal digits" }),
              contentType: Type.String({ description: "Content type of what is in it" }),
            },
            { description: "The file that has the whole result; data is its beginning" },
          ),
        ),
      },
      { description: "The result of a handler in this process" },
    );
    assert.deepEqual(LocalResponseMetaSchema, rebuilt);
    const record = Type.Record(
      Type.String(),
      Type.String(),
      HTTPResponseMetaSchema.properties.headers.description
        ? {
            description: HTTPResponseMetaSchema.properties.headers.description,
          }
        : {},
    );
    assert.deepEqual(HTTPResponseMetaSchema.properties.headers, record);
    assert.deepEqual(
      OperationSpecSchema.properties.type,
      Type.Union([Type.Literal("query"), Type.Literal("mutation"), Type.Literal("subscription")], {
        description: OperationSpecSchema.properties.type.description,
      }),
    );
    assert.deepEqual(
      AccessControlSchema.properties.requiredScopesAny,
      Type.Optional(
        Type.Array(Type.String(), {
          description: AccessControlSchema.properties.requiredScopesAny.description,
        }),
      ),
    );
    assert.equal(ResponseEnvelopeSchema.properties.data[Kind], "Unknown");
  });
});

describe("envelope schemas", () => {
  const samples = [
    localEnvelope(1, "a.b"),
    localEnvelope(undefined, "a.b"),
    httpEnvelope("x", { statusCode: 200, headers: { a: "b" }, contentType: "text/plain" }),
    httpEnvelope("x", {
      statusCode: 200,
      headers: {},
      contentType: "text/event-stream",
      sse: { event: "message", id: "1", retry: 5 },
    }),
    mcpEnvelope(null, {
      isError: false,
      content: [
        { type: "text", text: "a", annotations: { audience: ["user"], priority: 1, lastModified: "now" } },
        { type: "image", data: "", mimeType: "image/png" },
        { type: "audio", data: "", mimeType: "audio/wav", _meta: {} },
        { type: "resource", resource: { uri: "file:///a", text: "x" } },
        { type: "resource_link", uri: "file:///a", name: "a", title: "A", size: 3 },
      ],
      structuredContent: { a: 1 },
      _meta: { b: 2 },
    }),
  ];

  it("envelope schemas accept what the factories make", () => {
    for (const envelope of samples) {
      assert.ok(Value.Check(ResponseEnvelopeSchema, envelope), JSON.stringify(envelope));
      assert.ok(Value.Check(ResponseMetaSchema, envelope.meta));
    }
    assert.ok(Value.Check(LocalResponseMetaSchema, samples[0].meta));
    assert.ok(Value.Check(HTTPResponseMetaSchema, samples[3].meta));
    assert.ok(Value.Check(MCPResponseMetaSchema, samples[4].meta));
    for (const block of samples[4].meta.content) assert.ok(Value.Check(MCPContentBlockSchema, block));
  });

  it("envelope schemas refuse what is missing or of another type", () => {
    assert.equal(Value.Check(ResponseEnvelopeSchema, { meta: samples[0].meta }), false);
    assert.equal(Value.Check(LocalResponseMetaSchema, { source: "local", operationId: "a" }), false);
    assert.equal(Value.Check(HTTPResponseMetaSchema, { ...samples[2].meta, headers: { a: 1 } }), false);
    assert.equal(
      Value.Check(HTTPResponseMetaSchema, { ...samples[3].meta, sse: { event: "x", id: 1 } }),
      false,
    );
    assert.equal(Value.Check(MCPResponseMetaSchema, { ...samples[4].meta, isError: 0 }), false);
    assert.equal(Value.Check(MCPContentBlockSchema, { type: "text" }), false);
    assert.equal(Value.Check(MCPContentBlockSchema, { type: "video", data: "" }), false);
  });
});

describe("operation schemas", () => {
  const spec = {
    name: "create",
    namespace: "task",
    version: "1.0.0",
    type: OperationType.MUTATION,
    description: "Creates a task",
    inputSchema: Type.Object({ title: Type.String() }),
    outputSchema: Type.Unknown(),
    accessControl: { requiredScopes: ["task:write"] },
  };

  it("operation schemas accept a spec, with and without the optional parts", () => {
    assert.ok(Value.Check(OperationSpecSchema, spec));
    assert.ok(
      Value.Check(OperationSpecSchema, {
        ...spec,
        title: "Create",
        tags: ["a"],
        errorSchemas: [{ code: "FULL", description: "no room", schema: Type.Object({}), httpStatus: 507 }],
        _meta: { any: "thing" },
      }),
    );
    assert.ok(Value.Check(OperationDefinitionSchema, { ...spec, handler: async () => 1 }));
    assert.equal(Value.Check(OperationDefinitionSchema, spec), false);
  });

  it("operation schemas refuse what a registry refuses", () => {
    for (const broken of [
      { ...spec, name: "" },
      { ...spec, namespace: "" },
      { ...spec, type: "procedure" },
      { ...spec, accessControl: {} },
      { ...spec, accessControl: undefined },
      { ...spec, inputSchema: undefined },
      { ...spec, outputSchema: "string" },
      { ...spec, errorSchemas: [{}] },
    ]) {
      assert.equal(Value.Check(OperationSpecSchema, broken), false, JSON.stringify(broken));
    }
  });

  it("operation schemas know a context, an access rule and an error definition", () => {
    assert.ok(Value.Check(OperationContextSchema, {}));
    assert.ok(
      Value.Check(OperationContextSchema, {
        requestId: "r",
        identity: { id: "u", scopes: [], resources: { "a:1": ["read"] } },
        signal: new AbortController().signal,
        mine: 1,
      }),
    );
    assert.equal(Value.Check(OperationContextSchema, { identity: { id: "u" } }), false);
    assert.ok(Value.Check(AccessControlSchema, { requiredScopes: [] }));
    assert.equal(Value.Check(ErrorDefinitionSchema, { code: "" }), false);
  });
});

describe("OperationType", () => {
  it("OperationType has three values", () => {
    assert.deepEqual(OperationType, { QUERY: "query", MUTATION: "mutation", SUBSCRIPTION: "subscription" });
  });
});
