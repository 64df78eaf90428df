// Documents come from outside: none may hang, crash or exhaust the process, or change objects of ours.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { collectErrors, FromOpenAPI, inspectOpenAPI } from "@alkdev/operations";
import { assertNoStalls } from "../support/event-loop.mjs";
import { answering, documentOf, inspect, only } from "./support/documents.mjs";

// An import is asked for by the user, once: it may take longer than the check of a value.
assertNoStalls(2_000);

const config = { namespace: "t" };

describe("what is no document is refused with what was found", () => {
  const cases = [
    ["undefined", undefined, /found undefined/],
    ["a function", () => {}, /found a function/],
    ["null", null, /found nothing/],
    ["a number", 42, /found the number 42/],
    ["an array", [1, 2], /found an array of 2 items/],
    ["an empty object", {}, /an empty object/],
    [
      "another object",
      { name: "x", version: 1 },
      /no "openapi" or "swagger" version; found an object with name, version/,
    ],
    ["an unknown version", { openapi: "4.0.0", paths: {} }, /version "4\.0\.0" is not known/],
    ["Swagger 1.2", { swaggerVersion: "1.2", apis: [] }, /no "openapi" or "swagger" version/],
    ["an unknown Swagger", { swagger: "1.2", paths: {} }, /Swagger version "1\.2"/],
    ["no paths", { openapi: "3.0.0", info: {} }, /no "paths"/],
    ["paths that are a list", { openapi: "3.0.0", paths: [] }, /"paths" must be an object; found an array/],
    ["an empty text", "", /found nothing/],
    ["prose", "Hello there", /found the text "Hello there"/],
    ["HTML", "<!doctype html><p>Not found", /markup/],
    ["broken JSON", '{"openapi": "3.0.0", "paths": {', /not valid JSON: .*line 1/],
    ["broken YAML", "openapi: 3.0.0\n paths: : x", /neither JSON nor YAML|not allowed/],
    ["a bigint inside", { openapi: "3.0.0", paths: { "/a": 1n } }, /cannot be written as JSON .*BigInt/],
  ];
  for (const [what, spec, message] of cases) {
    it(`a document that is ${what} is refused with what was found`, () => {
      assert.throws(
        () => FromOpenAPI(spec, config),
        (error) => {
          assert.equal(error.name, "CallError");
          assert.equal(error.code, "VALIDATION_ERROR");
          assert.match(error.message, /^Not an OpenAPI document: /);
          assert.match(error.message, message);
          return true;
        },
      );
    });
  }

  it("a document object that contains itself is refused with the advice to give the original", () => {
    const spec = documentOf({});
    spec.paths["/a"] = spec;
    assert.throws(() => FromOpenAPI(spec, config), { code: "VALIDATION_ERROR", message: /circular.*\$ref/ });
  });

  it("a 3.1 document may have webhooks and no paths", () => {
    assert.deepEqual(FromOpenAPI({ openapi: "3.1.0", info: {}, webhooks: {} }, config), []);
  });

  it("a refusal describes what was found briefly, however long it is", () => {
    const spec = Object.fromEntries(
      Array.from({ length: 1000 }, (_, index) => ["k".repeat(1000) + index, 1]),
    );
    for (const given of [spec, "x".repeat(100_000), { openapi: "9".repeat(100_000) }]) {
      assert.throws(
        () => FromOpenAPI(given, config),
        (error) => error.message.length < 600,
      );
    }
  });
});

describe("depth", () => {
  const deep = (depth, open, close) =>
    `{"openapi":"3.0.0","paths":{"/a":{"get":{"x":${open.repeat(depth)}1${close.repeat(depth)}}}}}`;

  for (const [what, text] of [
    ["objects in JSON", deep(100_000, '{"a":', "}")],
    ["lists in JSON", deep(100_000, "[", "]")],
  ]) {
    it(`a document with deeply nested ${what} loses nothing but what is nested`, () => {
      assert.equal(FromOpenAPI(text, config).length, 1);
    });
  }

  it("a deeply nested schema degrades the operation that needs it, and no other", () => {
    // Node on Windows writes no object as JSON that is nested much deeper: the stack ends at 866 there, and at 2051 on Linux.
    const deepest = process.platform === "win32" ? 800 : 2000;
    for (const depth of [60, 500, deepest]) {
      let schema = { type: "string", description: 'a "brace" } in a text' };
      for (let i = 0; i < depth; i++) schema = { type: "object", properties: { a: schema } };
      const { operations, report } = inspect({
        paths: { "/deep": { get: answering(schema) }, "/flat": { get: answering({ type: "string" }) } },
      });
      assert.equal(operations.length, 2);
      const [deep, flat] = report;
      assert.equal(deep.status, "degraded");
      // What is left out stands in the place of a schema, or of the list that would hold it.
      assert.match(deep.problems[0].reason, /nested-too-deeply|"properties" has a value that it cannot have/);
      assert.equal(flat.status, "imported");
      assert.deepEqual(collectErrors(operations[0].outputSchema, { a: { a: 1 } })[0].path, "/a/a");
      assert.deepEqual(collectErrors(operations[1].outputSchema, "text"), []);
    }
  });

  for (const [what, text] of [
    ["flow notation in YAML", `openapi: 3.0.0\npaths: ${"[".repeat(100_000)}`],
    [
      "blocks in YAML",
      `openapi: 3.0.0\n${Array.from({ length: 2000 }, (_, i) => `${" ".repeat(i)}a:`).join("\n")}`,
    ],
  ]) {
    it(`a document with deeply nested ${what} is refused`, () => {
      assert.throws(() => FromOpenAPI(text, config), { code: "VALIDATION_ERROR" });
    });
  }

  it("a document too deep for JSON.stringify is refused", () => {
    let value = {};
    for (let index = 0; index < 100_000; index++) value = { value };
    assert.throws(() => FromOpenAPI({ ...documentOf({}), value }, config), { code: "VALIDATION_ERROR" });
  });

  it("deep chains of references are resolved", () => {
    const schemas = Object.fromEntries(
      Array.from({ length: 5000 }, (_, i) => [
        `s${i}`,
        { items: { $ref: `#/components/schemas/s${i + 1}` } },
      ]),
    );
    const { operations } = inspect({
      components: { schemas: { ...schemas, s5000: { type: "string" } } },
      paths: { "/a": { get: answering({ $ref: "#/components/schemas/s0" }) } },
    });
    assert.equal(Object.keys(operations[0].outputSchema.$defs).length, 5000);
  });
});

describe("loops", () => {
  const schemas = {
    Self: { $ref: "#/components/schemas/Self" },
    A: { $ref: "#/components/schemas/B" },
    B: { $ref: "#/components/schemas/A" },
    All: { allOf: [{ $ref: "#/components/schemas/All" }, { type: "object" }] },
    Any: { anyOf: [{ $ref: "#/components/schemas/Any" }, { type: "string" }] },
    Nested: { properties: { a: { $ref: "#/components/schemas/Nested/properties/a" } } },
    Root: { $ref: "#" },
  };
  for (const name of Object.keys(schemas)) {
    it(`a schema that leads to itself (${name}) is imported`, () => {
      const { outputSchema, inputSchema } = only({
        components: { schemas },
        paths: {
          "/a": {
            post: {
              requestBody: {
                content: { "application/json": { schema: { $ref: `#/components/schemas/${name}` } } },
              },
              ...answering({ $ref: `#/components/schemas/${name}` }),
            },
          },
        },
      });
      for (const value of [1, "x", {}, { a: {} }]) {
        for (const [schema, checked] of [
          [outputSchema, value],
          [inputSchema, { body: value }],
        ]) {
          try {
            assert.ok(Array.isArray(collectErrors(schema, checked)));
          } catch (error) {
            // A rule without an end is told, and is no crash.
            assert.equal(error.code, "VALIDATION_ERROR");
          }
        }
      }
    });
  }

  it("parameters, bodies, responses and paths that lead to themselves are reported", () => {
    const { report } = inspect({
      components: {
        parameters: { P: { $ref: "#/components/parameters/P" } },
        requestBodies: { B: { $ref: "#/components/requestBodies/B" } },
        responses: { R: { $ref: "#/components/responses/R" } },
      },
      paths: {
        "/a": {
          post: {
            parameters: [{ $ref: "#/components/parameters/P" }],
            requestBody: { $ref: "#/components/requestBodies/B" },
            responses: { 200: { $ref: "#/components/responses/R" } },
          },
        },
        "/b": { $ref: "#/paths/~1b" },
      },
    });
    assert.deepEqual(
      report.map(({ status, problems }) => [status, problems.map(({ code }) => code)]),
      [
        ["degraded", ["reference", "reference", "reference"]],
        ["skipped", ["reference"]],
      ],
    );
  });
});

describe("growth", () => {
  it("YAML aliases that multiply are refused", () => {
    const lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"];
    for (let index = 1; index < 12; index++) {
      lines.push(
        `a${index}: &a${index} [${Array(10)
          .fill(`*a${index - 1}`)
          .join(", ")}]`,
      );
    }
    assert.throws(() => FromOpenAPI(`openapi: 3.0.0\n${lines.join("\n")}\npaths: {}\n`, config), {
      code: "VALIDATION_ERROR",
      message: /aliases|repetition limit/,
    });
  });

  it("references that would multiply become definitions", () => {
    const schemas = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => {
        const next = { $ref: `#/components/schemas/s${i + 1}` };
        return [`s${i}`, { type: "object", properties: { a: next, b: next, c: next } }];
      }),
    );
    const { outputSchema } = only({
      components: { schemas: { ...schemas, s40: { type: "string" } } },
      paths: { "/a": { get: answering({ $ref: "#/components/schemas/s0" }) } },
    });
    assert.equal(Object.keys(outputSchema.$defs).length, 40);
    assert.ok(JSON.stringify(outputSchema).length < 20_000);
    assert.deepEqual(collectErrors(outputSchema, { a: { b: { c: {} } } }), []);
  });

  it("a large path item that many paths share is bounded, and the report says so", () => {
    const shared = {
      get: {
        description: "d".repeat(100_000),
        parameters: Array.from({ length: 100 }, (_, i) => ({ in: "query", name: `p${i}`, schema: {} })),
      },
    };
    const paths = Object.fromEntries(
      Array.from({ length: 6000 }, (_, i) => [`/p${i}`, { $ref: "#/components/pathItems/S" }]),
    );
    const { operations, report } = inspectOpenAPI(
      { openapi: "3.1.0", info: {}, components: { pathItems: { S: shared } }, paths },
      config,
    );
    assert.equal(report.length, 6000);
    assert.ok(operations.length > 100 && operations.length < 6000);
    assert.equal(report.at(-1).problems[0].code, "limit");
  });

  it("patterns in a document that backtrack are bounded", () => {
    const { inputSchema } = only({
      paths: {
        "/a": {
          get: { parameters: [{ in: "query", name: "q", schema: { type: "string", pattern: "^(a+)+$" } }] },
        },
      },
    });
    assert.notDeepEqual(collectErrors(inputSchema, { q: `${"a".repeat(10_000)}!` }), []);
  });
});

describe("names that every object has", () => {
  const members = JSON.parse(`{
    "components": { "schemas": { "__proto__": { "type": "object", "properties": { "__proto__": { "type": "integer" }, "constructor": { "type": "string" } } } } },
    "paths": {
      "__proto__": { "get": { "operationId": "constructor", "tags": ["__proto__"] } },
      "/a": { "post": {
        "operationId": "__proto__",
        "parameters": [
          { "in": "query", "name": "__proto__", "schema": { "type": "integer" } },
          { "in": "header", "name": "__proto__", "schema": { "type": "boolean" } },
          { "in": "query", "name": "hasOwnProperty", "schema": { "$ref": "#/components/schemas/__proto__" } }
        ],
        "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/__proto__" } } } }
      } }
    }
  }`);

  it("names that every object inherits are names like any other, and change nothing", () => {
    const { operations, report } = inspect(members, { name: () => undefined, include: () => true });
    assert.deepEqual(
      operations.map(({ name }) => name),
      ["constructor", "__proto__"],
    );
    assert.deepEqual(
      report.map(({ status }) => status),
      ["imported", "imported"],
    );
    const { inputSchema } = operations[1];
    assert.deepEqual(Object.keys(inputSchema.properties), [
      "__proto__",
      "header___proto__",
      "hasOwnProperty",
      "body",
    ]);
    const input = JSON.parse('{ "__proto__": 1, "body": { "__proto__": 2, "constructor": "c" } }');
    assert.deepEqual(collectErrors(inputSchema, input), []);
    const wrong = JSON.parse('{ "__proto__": "x", "body": { "__proto__": "y" } }');
    assert.deepEqual(
      collectErrors(inputSchema, wrong).map(({ path }) => path),
      ["/__proto__", "/body/__proto__"],
    );
    assert.equal({}.type, undefined);
    assert.equal(Object.getPrototypeOf(inputSchema), Object.prototype);
  });
});

describe("any part may be of any type", () => {
  const valid = {
    openapi: "3.1.0",
    info: { version: "1" },
    servers: [{ url: "https://{h}", variables: { h: { default: "x" } } }],
    security: [{ key: [] }],
    components: {
      securitySchemes: { key: { type: "apiKey", in: "header", name: "k" } },
      schemas: { S: { type: "object", properties: { a: { type: "string", enum: ["x"] } }, required: ["a"] } },
    },
    paths: {
      "/a/{id}": {
        parameters: [{ in: "path", name: "id", required: true, schema: { type: "string" } }],
        servers: [{ url: "/" }],
        post: {
          operationId: "o",
          tags: ["t"],
          requestBody: {
            content: {
              "application/json": {
                schema: { $ref: "#/components/schemas/S" },
                encoding: { a: { style: "form" } },
              },
            },
          },
          responses: {
            200: {
              content: { "application/json": { schema: { anyOf: [{ $ref: "#/components/schemas/S" }] } } },
            },
          },
        },
      },
    },
  };

  /** Every place of a value, as a list of steps. */
  function* places(value, steps = []) {
    if (steps.length > 0) yield steps;
    if (typeof value !== "object" || value === null) return;
    for (const key of Object.keys(value)) yield* places(value[key], [...steps, key]);
  }

  const replaced = (value, [step, ...rest], by) => {
    const copy = structuredClone(value);
    let at = copy;
    const steps = [step, ...rest];
    for (const key of steps.slice(0, -1)) at = at[key];
    at[steps.at(-1)] = by;
    return copy;
  };

  it("a part of a document of any wrong type is an error of the document, a report entry, or ignored", () => {
    let imported = 0;
    for (const steps of places(valid)) {
      for (const by of [
        null,
        true,
        0,
        -1.5,
        "",
        "x",
        "#",
        [],
        [null],
        [[]],
        {},
        { $ref: 5 },
        { $ref: "#/nowhere" },
      ]) {
        const document = replaced(valid, steps, by);
        try {
          const { operations, report } = inspectOpenAPI(document, config);
          assert.ok(operations.length <= report.length);
          for (const operation of operations) {
            assert.equal(typeof operation.inputSchema, "object");
            assert.equal(typeof operation.outputSchema, "object");
            assert.ok(Array.isArray(collectErrors(operation.inputSchema, { id: "1", body: { a: "x" } })));
            imported += 1;
          }
        } catch (error) {
          assert.equal(
            error.code,
            "VALIDATION_ERROR",
            `${steps.join("/")} = ${JSON.stringify(by)}: ${error.stack}`,
          );
        }
      }
    }
    assert.ok(imported > 300);
  });
});
