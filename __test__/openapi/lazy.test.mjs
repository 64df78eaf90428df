// Schemas are made when somebody looks at them, and nobody can tell.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { buildEnv, FromOpenAPI, OperationRegistry, zodAdapter } from "@alkdev/operations";
import { Kind } from "@sinclair/typebox";
import { answering, fromPaths, only, realDocuments } from "./support/documents.mjs";

const isMade = (operation, field = "inputSchema") =>
  Object.getOwnPropertyDescriptor(operation, field).get === undefined;

const pet = () =>
  only({
    paths: {
      "/pets/{id}": {
        get: {
          operationId: "pet",
          parameters: [{ in: "path", name: "id", required: true, schema: { type: "integer" } }],
          ...answering({ type: "object", properties: { name: { type: "string" } } }),
        },
      },
    },
  });

describe("a schema of an imported operation", () => {
  it("a schema of an imported operation is made on first access, once", () => {
    const operation = pet();
    assert.equal(isMade(operation), false);
    const { inputSchema } = operation;
    assert.equal(isMade(operation), true);
    assert.equal(isMade(operation, "outputSchema"), false);
    assert.equal(operation.inputSchema, inputSchema);
    assert.equal(inputSchema[Kind], "Object");
  });

  it("a schema of an imported operation is an own, enumerable property", () => {
    const operation = pet();
    assert.ok(Object.keys(operation).includes("inputSchema"));
    assert.ok(Object.hasOwn(operation, "outputSchema"));
  });

  it("a schema of an imported operation is in a copy by spreading, as the same object", () => {
    const operation = pet();
    const copy = { ...operation, name: "other" };
    assert.equal(isMade(copy), true);
    assert.equal(copy.inputSchema, operation.inputSchema);
  });

  it("a schema of an imported operation is in JSON", () => {
    const { inputSchema, outputSchema } = JSON.parse(JSON.stringify(pet()));
    assert.deepEqual(inputSchema.required, ["id"]);
    assert.deepEqual(Object.keys(outputSchema.properties), ["name"]);
  });

  it("a schema of an imported operation can be replaced before and after it is made", () => {
    const operation = pet();
    operation.inputSchema = { mine: 1 };
    assert.deepEqual(operation.inputSchema, { mine: 1 });
    operation.inputSchema = { mine: 2 };
    assert.deepEqual(operation.inputSchema, { mine: 2 });
    assert.equal(isMade(operation), true);
  });

  it("a schema of an imported operation is there in a frozen operation and in one that inherits from it", () => {
    const operation = Object.freeze(pet());
    const heir = Object.create(operation);
    assert.equal(heir.inputSchema, operation.inputSchema);
    assert.equal(Object.hasOwn(heir, "inputSchema"), false);
  });
});

describe("the registry", () => {
  it("the registry makes no imported schema before the operation is called", async () => {
    const registry = new OperationRegistry();
    const operation = pet();
    operation.handler = () => ({ name: "Rex", extra: 1 });
    registry.register(operation);
    registry.list();
    registry.getAllSpecs();
    registry.get("t.pet");
    registry.getSpec("t.pet");
    buildEnv({ registry, context: {} });
    registry.registerHandler("t.pet", operation.handler);
    assert.equal(isMade(operation), false);
    await assert.rejects(registry.execute("t.pet", { id: "x" }), { code: "VALIDATION_ERROR" });
    assert.deepEqual((await registry.execute("t.pet", { id: 1 })).data, { name: "Rex" });
  });

  it("the registry returns the same schema as the operation has, in every copy", () => {
    const registry = new OperationRegistry();
    const operation = pet();
    registry.register(operation);
    const listed = registry.list()[0];
    assert.equal(listed.inputSchema, operation.inputSchema);
    assert.equal(registry.get("t.pet").inputSchema, operation.inputSchema);
    assert.equal(registry.getSpec("t.pet").outputSchema, operation.outputSchema);
    assert.deepEqual(listed, operation);
  });

  it("the registry keeps its copy when the user replaces a schema", async () => {
    const registry = new OperationRegistry();
    const operation = pet();
    registry.register(operation);
    operation.inputSchema = { mine: true };
    assert.deepEqual(registry.get("t.pet").inputSchema.required, ["id"]);
  });

  it("the registry takes imported schemas as they are, with any adapter", () => {
    const registry = new OperationRegistry({ schemaAdapter: zodAdapter() });
    registry.register(pet());
    assert.equal(registry.get("t.pet").inputSchema[Kind], "Object");
  });

  it("registerSpec, and a spec without a handler, make no imported schema", () => {
    const registry = new OperationRegistry();
    const operation = pet();
    registry.registerSpec(operation);
    assert.equal(isMade(operation), false);
    assert.equal(registry.getHandler("t.pet"), undefined);
    assert.equal("handler" in registry.get("t.pet"), false);
  });

  it("the registry still refuses a malformed imported operation by its field", () => {
    const operation = pet();
    operation.version = 5;
    assert.throws(() => new OperationRegistry().register(operation), {
      code: "VALIDATION_ERROR",
      message: /t\.pet: version/,
    });
  });

  it("the registry registers GitHub's 1,223 operations without making one of their 2,446 schemas", () => {
    const operations = FromOpenAPI(realDocuments[0].text(), { namespace: "github" });
    assert.equal(operations.length, 1223);
    const registry = new OperationRegistry();
    registry.registerAll(operations);
    assert.equal(registry.list().length, 1223);
    assert.deepEqual(
      operations.filter((operation) => isMade(operation) || isMade(operation, "outputSchema")),
      [],
    );
  });
});

describe("a schema that cannot be made", () => {
  it("a schema that cannot be made is an error for its operation alone", () => {
    const large = { enum: Array.from({ length: 500_001 }, (_, index) => index) };
    const operations = fromPaths({
      "/a": { get: answering(large) },
      "/b": { get: answering({ type: "string" }) },
    });
    assert.equal(operations.length, 2);
    assert.throws(() => operations[0].outputSchema, { code: "VALIDATION_ERROR", message: /get_a/ });
    assert.equal(operations[1].outputSchema.type, "string");
  });
});
