// The rules by which a document becomes operations, one by one.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { collectErrors, FromOpenAPI } from "@alkdev/operations";
import { Kind } from "@sinclair/typebox";
import { answering, documentOf, fromPaths, inspect, only, plain } from "./support/documents.mjs";

describe("an imported operation", () => {
  it("an imported operation has what the document says", () => {
    const operation = only({
      paths: {
        "/pets": {
          post: {
            operationId: "addPet",
            summary: "Add a pet",
            description: "Adds a pet to the shop.",
            tags: ["pets", "write"],
            deprecated: true,
          },
        },
      },
    });
    assert.deepEqual(Object.keys(operation).sort(), [
      "_meta",
      "accessControl",
      "description",
      "handler",
      "inputSchema",
      "name",
      "namespace",
      "outputSchema",
      "tags",
      "title",
      "type",
      "version",
    ]);
    const { inputSchema, outputSchema, handler, ...rest } = operation;
    assert.deepEqual(rest, {
      namespace: "t",
      name: "addPet",
      version: "1.2.3",
      type: "mutation",
      title: "Add a pet",
      description: "Adds a pet to the shop.",
      tags: ["pets", "write"],
      accessControl: { requiredScopes: [] },
      _meta: { method: "POST", path: "/pets", summary: "Add a pet", operationId: "addPet", deprecated: true },
    });
    assert.equal(typeof handler, "function");
    assert.equal(inputSchema[Kind], "Object");
    assert.equal(outputSchema[Kind], "Unknown");
  });

  it("an imported operation is described by its description, else its summary, else method and path", () => {
    const texts = [
      { summary: "s", description: "d" },
      { summary: "s", description: " " },
      { summary: "s" },
      {},
    ];
    const described = texts.map((text) => only({ paths: { "/a/{b}": { get: text } } }).description);
    assert.deepEqual(described, ["d", "s", "s", "GET /a/{b}"]);
  });

  it("an imported operation has the document's version, also if that is a number in YAML", () => {
    const yaml = (version) => `openapi: 3.0.0\ninfo:\n  version: ${version}\npaths:\n  /a:\n    get: {}\n`;
    const version = (text) => FromOpenAPI(text, { namespace: "t" })[0].version;
    assert.equal(version(yaml("1.10")), "1.10");
    assert.equal(version(yaml("v2")), "v2");
    assert.equal(version("openapi: 3.0.0\npaths: { /a: { get: {} } }"), "1.0.0");
  });

  it("an imported operation carries the output mode of the configuration", () => {
    for (const output of ["normalise", "keep", "off"]) {
      assert.equal(only({ paths: { "/a": { get: {} } } }, { output })._meta.output, output);
    }
    assert.equal("output" in only({ paths: { "/a": { get: {} } } })._meta, false);
  });

  it("an imported operation lists the credentials that it requires", () => {
    const components = {
      securitySchemes: {
        key: { type: "apiKey", in: "header", name: "X-Key" },
        http: { type: "http", scheme: "basic" },
      },
    };
    const operation = only({
      components,
      security: [{ key: [], http: [] }, {}],
      paths: { "/a": { get: {} } },
    });
    assert.deepEqual(operation._meta.security, [
      [
        { scheme: "key", type: "apiKey", in: "header", name: "X-Key", scopes: [] },
        { scheme: "http", type: "http", httpScheme: "basic", scopes: [] },
      ],
      [],
    ]);
  });
});

describe("the type of an operation", () => {
  const content = (...types) => ({
    responses: { 200: { content: Object.fromEntries(types.map((t) => [t, {}])) } },
  });
  const cases = [
    ["get", {}, "query"],
    ["post", {}, "mutation"],
    ["delete", content("application/json"), "mutation"],
    ["get", content("text/event-stream"), "subscription"],
    ["post", content("application/json", "text/event-stream"), "subscription"],
    ["get", content("application/x-ndjson"), "subscription"],
    ["get", content("application/jsonl"), "subscription"],
    ["get", content("text/event-stream; charset=utf-8"), "subscription"],
  ];
  for (const [method, operation, type] of cases) {
    it(`${method} ${JSON.stringify(operation)} is imported as a ${type}`, () => {
      assert.equal(only({ paths: { "/a": { [method]: operation } } }).type, type);
    });
  }

  it("an error response that streams makes no subscription", () => {
    const responses = { 200: { description: "" }, 500: { content: { "text/event-stream": {} } } };
    assert.equal(only({ paths: { "/a": { get: { responses } } } }).type, "query");
  });

  it("config.preferJson chooses JSON if both JSON and a stream are offered", () => {
    const both = content("application/json", "text/event-stream");
    const paths = { "/a": { get: both }, "/b": { post: both }, "/c": { get: content("text/event-stream") } };
    const types = (preferJson) => fromPaths(paths, { preferJson }).map(({ type }) => type);
    assert.deepEqual(types(false), ["subscription", "subscription", "subscription"]);
    assert.deepEqual(types(true), ["query", "mutation", "subscription"]);
    assert.deepEqual(
      types(({ path }) => path === "/b"),
      ["subscription", "mutation", "subscription"],
    );
  });

  it("a subscription's handler is an async generator function", () => {
    const { handler } = only({ paths: { "/a": { get: content("text/event-stream") } } });
    assert.equal(handler[Symbol.toStringTag], "AsyncGeneratorFunction");
  });
});

describe("the output of an operation", () => {
  const json = (title) => ({ content: { "application/json": { schema: { type: "object", title } } } });
  const cases = [
    [{ default: json("default"), 201: json("201"), 200: json("200") }, "200"],
    [{ 204: {}, 202: json("202"), 201: json("201"), default: json("default") }, "201"],
    [{ 400: json("400"), 202: json("202"), default: json("default") }, "202"],
    [{ "2XX": json("2XX"), default: json("default") }, "2XX"],
    [{ 404: json("404"), default: json("default") }, "default"],
    [{ 404: json("404") }, undefined],
  ];
  for (const [responses, title] of cases) {
    it(`the output of ${Object.keys(responses)} is that of ${title ?? "none"}`, () => {
      const { outputSchema } = only({ paths: { "/a": { get: { responses } } } });
      assert.equal(outputSchema.title, title);
      if (title === undefined) assert.equal(outputSchema[Kind], "Unknown");
    });
  }

  it("the output of an event stream in 3.2 is the data of the event object that itemSchema describes", () => {
    const itemSchema = {
      properties: {
        event: { type: "string" },
        data: { contentMediaType: "application/json", contentSchema: { type: "integer" } },
      },
    };
    const responses = { 200: { content: { "text/event-stream": { itemSchema } } } };
    const operation = only({ openapi: "3.2.0", paths: { "/a": { get: { responses } } } });
    assert.deepEqual(plain(operation.outputSchema), { type: "integer" });
  });

  it("writeOnly properties are not required in an output, nor readOnly ones in an input", () => {
    const schema = {
      type: "object",
      required: ["id", "name", "password"],
      properties: {
        id: { type: "string", readOnly: true },
        name: { type: "string" },
        password: { type: "string", writeOnly: true },
      },
    };
    const requestBody = { required: true, content: { "application/json": { schema } } };
    const { inputSchema, outputSchema } = only({
      paths: { "/a": { post: { requestBody, ...answering(schema) } } },
    });
    assert.deepEqual(collectErrors(inputSchema, { body: { name: "n", password: "p" } }), []);
    assert.deepEqual(collectErrors(outputSchema, { id: "1", name: "n" }), []);
    assert.notDeepEqual(collectErrors(inputSchema, { body: { name: "n" } }), []);
    assert.notDeepEqual(collectErrors(outputSchema, { name: "n" }), []);
  });
});

describe("the input of an operation", () => {
  const inputOf = (operation, item = {}, members = {}) =>
    plain(only({ ...members, paths: { "/a/{id}": { ...item, post: operation } } }).inputSchema);
  const id = { in: "path", name: "id", required: true, schema: { type: "string" } };
  const body = (schema, required) => ({
    requestBody: { required, content: { "application/json": { schema } } },
  });

  it("the input of an operation has a property for each parameter, and body", () => {
    const input = inputOf({
      parameters: [
        id,
        { in: "query", name: "limit", description: "How many", schema: { type: "integer", maximum: 9 } },
        { in: "header", name: "X-Trace", required: true, schema: { type: "string" } },
        { in: "cookie", name: "session", schema: { type: "string" } },
      ],
      ...body({ type: "array" }, true),
    });
    assert.deepEqual(input, {
      type: "object",
      properties: {
        id: { type: "string" },
        limit: { type: "integer", maximum: 9, description: "How many" },
        "X-Trace": { type: "string" },
        session: { type: "string" },
        body: { type: "array" },
      },
      required: ["id", "X-Trace", "body"],
    });
  });

  it("the input of an operation requires the body only when the document does", () => {
    assert.deepEqual(inputOf({ parameters: [id], ...body({}, undefined) }).required, ["id"]);
  });

  it("the input of an operation has the parameters of the path, which the operation's own replace", () => {
    const query = (name, type) => ({ in: "query", name, schema: { type } });
    const input = inputOf(
      { parameters: [query("shared", "integer")] },
      { parameters: [id, query("shared", "string"), query("path", "boolean")] },
    );
    assert.deepEqual(Object.keys(input.properties), ["id", "shared", "path"]);
    assert.equal(input.properties.shared.type, "integer");
  });

  it("the input of an operation has both of two parameters of one name", () => {
    const input = inputOf({
      parameters: [
        id,
        { in: "query", name: "id", schema: { type: "integer" } },
        { in: "header", name: "id", schema: {} },
      ],
    });
    assert.deepEqual(Object.keys(input.properties), ["id", "query_id", "header_id"]);
  });

  it("a parameter called body beside a request body is named after its location", () => {
    const parameter = { in: "query", name: "body", schema: { type: "boolean" } };
    assert.deepEqual(Object.keys(inputOf({ parameters: [id, parameter], ...body({}) }).properties), [
      "id",
      "query_body",
      "body",
    ]);
    assert.deepEqual(Object.keys(inputOf({ parameters: [id, parameter] }).properties), ["id", "body"]);
  });

  it("the input of an operation allows null if the document says nullable", () => {
    const components = { schemas: { Pet: { type: "object", required: ["name"], properties: { name: {} } } } };
    const properties = {
      plain: { type: "string", nullable: true },
      pet: { nullable: true, allOf: [{ $ref: "#/components/schemas/Pet" }] },
      strict: { $ref: "#/components/schemas/Pet" },
    };
    const { inputSchema } = only({
      components,
      paths: { "/a": { post: body({ type: "object", properties }) } },
    });
    assert.deepEqual(collectErrors(inputSchema, { body: { plain: null, pet: null } }), []);
    assert.notDeepEqual(collectErrors(inputSchema, { body: { strict: null } }), []);
    assert.notDeepEqual(collectErrors(inputSchema, { body: { pet: {} } }), []);
  });

  it("the input of an operation takes text or bytes for a body that only the caller can write", () => {
    const schema = { type: "object", required: ["a"], properties: { a: {} } };
    const { operations, report } = inspect({
      paths: { "/a": { post: { requestBody: { content: { "application/xml": { schema } } } } } },
    });
    for (const given of ["<a/>", new Uint8Array(3)]) {
      assert.deepEqual(collectErrors(operations[0].inputSchema, { body: given }), []);
    }
    assert.deepEqual([report[0].status, report[0].problems[0].code], ["degraded", "body"]);
  });

  it("the input of an operation declares path parameters that the document forgot", () => {
    const { operations, report } = inspect({ paths: { "/a/{id}": { get: {} } } });
    assert.deepEqual(plain(operations[0].inputSchema).required, ["id"]);
    assert.equal(report[0].status, "degraded");
    assert.match(report[0].problems[0].reason, /"id" is not declared/);
  });
});

describe("references", () => {
  const components = {
    schemas: {
      Node: {
        type: "object",
        properties: {
          next: { $ref: "#/components/schemas/Node" },
          value: { $ref: "#/components/schemas/Value" },
        },
      },
      Value: { type: "integer" },
      Unused: { type: "string" },
      "odd name/with~signs": { type: "boolean" },
    },
    parameters: { Limit: { in: "query", name: "limit", schema: { $ref: "#/components/schemas/Value" } } },
    requestBodies: {
      Node: { content: { "application/json": { schema: { $ref: "#/components/schemas/Node" } } } },
    },
    responses: {
      Node: { content: { "application/json": { schema: { $ref: "#/components/schemas/Node" } } } },
    },
  };
  const operation = {
    parameters: [
      { $ref: "#/components/parameters/Limit" },
      { in: "query", name: "odd", schema: { $ref: "#/components/schemas/odd%20name~1with~0signs" } },
    ],
    requestBody: { $ref: "#/components/requestBodies/Node" },
    responses: { 200: { $ref: "#/components/responses/Node" } },
  };

  for (const [version, item] of [
    ["3.0.3", { post: operation }],
    ["3.1.0", { $ref: "#/components/pathItems/Shared" }],
  ]) {
    it(`references are followed everywhere, circular ones included (${version})`, () => {
      const pathItems = { Shared: { post: operation } };
      const { inputSchema, outputSchema } = only({
        openapi: version,
        components: { ...components, pathItems },
        paths: { "/a": item },
      });
      const schema = plain(inputSchema);
      assert.deepEqual(schema.properties.limit, { type: "integer" });
      assert.deepEqual(schema.properties.odd, { type: "boolean" });
      assert.deepEqual(Object.keys(schema.$defs).sort(), ["Node", "Value"]);
      const chain = { value: 1, next: { value: 2, next: { value: 3 } } };
      assert.deepEqual(collectErrors(inputSchema, { body: chain }), []);
      assert.deepEqual(collectErrors(outputSchema, chain), []);
      const broken = { value: 1, next: { value: 2, next: { value: "3" } } };
      assert.equal(collectErrors(inputSchema, { body: broken })[0].path, "/body/next/next/value");
      assert.ok(!JSON.stringify([inputSchema, outputSchema]).includes("#/components/"));
    });
  }

  it("references to nothing degrade the operation alone, and the report says where", () => {
    const { operations, report } = inspect({
      paths: {
        "/a": { get: answering({ properties: { x: { $ref: "#/components/schemas/Gone" } } }) },
        "/b": { get: { parameters: [{ $ref: "#/components/parameters/Gone" }] } },
        "/c": { $ref: "#/components/pathItems/Gone" },
        "/d": { get: {} },
      },
    });
    assert.deepEqual(
      report.map(({ path, status, problems }) => [path, status, problems[0]?.code, problems[0]?.pointer]),
      [
        [
          "/a",
          "degraded",
          "reference",
          "/paths/~1a/get/responses/200/content/application~1json/schema/properties/x",
        ],
        ["/b", "degraded", "reference", "/paths/~1b/get/parameters/0"],
        ["/c", "skipped", "reference", "/paths/~1c"],
        ["/d", "imported", undefined, undefined],
      ],
    );
    assert.equal(operations.length, 3);
    assert.deepEqual(collectErrors(operations[0].outputSchema, { x: 1 }), []);
  });
});

describe("Swagger 2.0", () => {
  const swagger = (members) => ({ swagger: "2.0", info: { version: "9" }, ...members });

  it("Swagger 2.0 is read like the other versions", () => {
    const [operation] = FromOpenAPI(
      swagger({
        basePath: "/v2/",
        definitions: {
          Pet: { type: "object", required: ["name"], properties: { name: { type: "string" } } },
        },
        parameters: { Limit: { in: "query", name: "limit", type: "integer", maximum: 5 } },
        responses: { Pets: { schema: { type: "array", items: { $ref: "#/definitions/Pet" } } } },
        paths: {
          "/pets/{id}": {
            put: {
              operationId: "put",
              parameters: [
                { in: "path", name: "id", required: true, type: "string" },
                { $ref: "#/parameters/Limit" },
                {
                  in: "query",
                  name: "tags",
                  type: "array",
                  items: { type: "string" },
                  collectionFormat: "multi",
                },
                { in: "body", name: "pet", required: true, schema: { $ref: "#/definitions/Pet" } },
              ],
              responses: { 200: { $ref: "#/responses/Pets" } },
            },
          },
        },
      }),
      { namespace: "t" },
    );
    assert.equal(operation.version, "9");
    assert.equal(operation._meta.path, "/v2/pets/{id}");
    const input = plain(operation.inputSchema);
    assert.deepEqual(Object.keys(input.properties), ["id", "limit", "tags", "body"]);
    assert.deepEqual(input.required, ["id", "body"]);
    assert.deepEqual(
      collectErrors(operation.inputSchema, { id: "1", limit: 5, tags: ["a"], body: { name: "x" } }),
      [],
    );
    assert.equal(collectErrors(operation.inputSchema, { id: "1", limit: 6, body: {} }).length > 1, true);
    assert.deepEqual(collectErrors(operation.outputSchema, [{ name: "x" }]), []);
    assert.notDeepEqual(collectErrors(operation.outputSchema, [{}]), []);
    assert.ok(!JSON.stringify(operation).includes("#/definitions/"));
  });

  it("form fields of Swagger 2.0 are one body", () => {
    const [operation] = FromOpenAPI(
      swagger({
        paths: {
          "/a": {
            post: {
              consumes: ["multipart/form-data"],
              parameters: [
                { in: "formData", name: "file", type: "file", required: true },
                { in: "formData", name: "note", type: "string" },
              ],
            },
          },
        },
      }),
      { namespace: "t" },
    );
    const input = plain(operation.inputSchema);
    assert.deepEqual(input.required, ["body"]);
    assert.deepEqual(input.properties.body.required, ["file"]);
    assert.deepEqual(
      collectErrors(operation.inputSchema, { body: { file: new Uint8Array(3), note: "n" } }),
      [],
    );
  });
});

describe("notations", () => {
  const document = documentOf({
    paths: { "/a": { get: { operationId: "a", responses: { 200: { description: "yes" } } } } },
  });
  const yaml = `
# a comment
openapi: 3.0.3
info: { title: t, version: 1.2.3 }
paths:
  /a:
    get:
      operationId: a
      responses:
        200: { description: yes }
`;
  for (const [what, spec] of [
    ["an object", document],
    ["JSON text", JSON.stringify(document)],
    ["JSON text with a BOM and blanks", `\ufeff \n${JSON.stringify(document, null, 2)}`],
    ["YAML text", yaml],
    [
      "YAML in flow notation",
      "{ openapi: 3.0.3, info: { version: 1.2.3 }, paths: { /a: { get: { operationId: a } } } }",
    ],
  ]) {
    it(`${what} is accepted as a document`, () => {
      const [operation] = FromOpenAPI(spec, { namespace: "t" });
      assert.equal(operation.name, "a");
      assert.equal(operation.version, "1.2.3");
    });
  }
});
