// The served document is OpenAPI 3.1 in all its schemas, whatever they were written in.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FromOpenAPI, OperationRegistry } from "@alkdev/operations";
import { toOpenAPI } from "@alkdev/operations/serve";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Type } from "@sinclair/typebox";
import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";
import { documentOf } from "../http/support.mjs";
import { operation, serving } from "./support.mjs";

const INFO = { title: "Test", version: "1" };

function documentFor(...operations) {
  const registry = new OperationRegistry();
  registry.registerAll(operations);
  return toOpenAPI(registry, INFO);
}

describe("the schema of a declared error", () => {
  it("the schema of a declared error is JSON Schema in the document, whichever library made it", async () => {
    const libraries = {
      TYPEBOX: Type.Object({ left: Type.Integer() }),
      ZOD: z.object({ left: z.number().int() }),
      VALIBOT: v.object({ left: v.pipe(v.number(), v.integer()) }),
      ARKTYPE: type({ left: "number.integer" }),
    };
    const errorSchemas = Object.entries(libraries).map(([code, schema], index) => ({
      code,
      description: code,
      httpStatus: 409 + index,
      schema,
    }));
    const document = documentFor(operation({ name: "buy", type: "mutation", errorSchemas }));
    const { responses } = document.paths["/test/buy"].post;
    for (const [index, code] of Object.keys(libraries).entries()) {
      const { schema } = responses[409 + index].content["application/problem+json"];
      const [, { properties }] = schema.anyOf[0].allOf;
      assert.deepEqual(properties.code, { const: code });
      assert.equal(properties.details.type, "object", code);
      assert.equal(properties.details.properties.left.type, "integer", code);
      assert.deepEqual(properties.details.required, ["left"], code);
      assert.deepEqual(
        Object.keys(properties.details).filter(
          (key) => key.startsWith("_") || key.startsWith("~") || key === "def",
        ),
        [],
      );
    }
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    assert.ok(valid, JSON.stringify(errors, null, 2));
  });

  it("the schema of a declared error is left out of the document if its library cannot write it", () => {
    const errorSchemas = [{ code: "ODD", description: "", schema: z.bigint() }];
    const document = documentFor(operation({ name: "odd", type: "mutation", errorSchemas }));
    const { schema } = document.paths["/test/odd"].post.responses[500].content["application/problem+json"];
    assert.deepEqual(schema.anyOf[0].allOf[1], { properties: { code: { const: "ODD" } } });
  });
});

describe("what was imported from OpenAPI 3.0", () => {
  it("what was imported from OpenAPI 3.0 is served in the keywords of 3.1", async () => {
    const money = { type: "number", minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false };
    const schema = {
      type: "object",
      properties: {
        name: { type: "string", nullable: true },
        kind: { type: "string", enum: ["a", "b"], nullable: true },
        price: money,
        other: { nullable: true, allOf: [{ $ref: "#/components/schemas/Money" }] },
      },
    };
    const paths = {
      "/things": {
        post: {
          operationId: "make",
          requestBody: { content: { "application/json": { schema } } },
          responses: { 200: { description: "", content: { "application/json": { schema } } } },
        },
      },
    };
    const source = documentOf(paths, { openapi: "3.0.3", components: { schemas: { Money: money } } });
    const imported = FromOpenAPI(source, { namespace: "up", baseUrl: "http://127.0.0.1:9" });
    const { url } = await serving(imported);
    const text = await (await fetch(`${url}/api/openapi.json`)).text();
    assert.doesNotMatch(text, /"nullable"/);
    assert.doesNotMatch(text, /"exclusiveM(in|ax)imum":(true|false)/);
    const document = JSON.parse(text);
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    assert.ok(valid, JSON.stringify(errors, null, 2));
    // An import means the same.
    const registry = new OperationRegistry();
    registry.registerAll(FromOpenAPI(document, { baseUrl: "http://127.0.0.1:9" }));
    const check = async (body) => {
      const error = await registry.execute("up.make", { body }, {}).catch((thrown) => thrown);
      return error.code;
    };
    for (const fine of [
      { name: null },
      { kind: null },
      { kind: "a" },
      { price: 9 },
      { other: null },
      { other: 1 },
    ]) {
      assert.equal(await check(fine), "EXECUTION_ERROR", JSON.stringify(fine));
    }
    for (const wrong of [
      { name: 1 },
      { kind: "c" },
      { price: 0 },
      { price: null },
      { price: 10 },
      { other: 0 },
    ]) {
      assert.equal(await check(wrong), "VALIDATION_ERROR", JSON.stringify(wrong));
    }
  });
});

describe("an operation that is listed under GET, and can be called with POST", () => {
  const find = operation({
    name: "find",
    inputSchema: Type.Object({ id: Type.Integer() }),
    handler: ({ id }) => id,
  });

  it("an operation that is listed under GET and can be called with POST has both in the document, and neither is refused", async () => {
    const { url, post } = await serving([find]);
    const document = await (await fetch(`${url}/api/openapi.json`)).json();
    const item = document.paths["/test/find"];
    assert.deepEqual(Object.keys(item).sort(), ["get", "post"]);
    assert.notEqual(item.get.operationId, item.post.operationId);
    assert.ok("requestBody" in item.post);
    assert.equal(await (await fetch(`${url}/api/test/find?id=7`)).json(), 7);
    assert.equal(await (await post("test/find", { id: 7 })).json(), 7);
    const put = await fetch(`${url}/api/test/find`, { method: "PUT" });
    assert.equal(put.status, 405);
    assert.equal(put.headers.get("allow"), "GET, POST");
  });

  it("an operation that the document lists under GET and POST is imported once", () => {
    const imported = FromOpenAPI(documentFor(find), { baseUrl: "http://127.0.0.1:9" });
    assert.deepEqual(
      imported.map(({ namespace, name, _meta }) => [namespace, name, _meta.method]),
      [["test", "find", "GET"]],
    );
  });
});
