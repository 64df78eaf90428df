// Messages that a new user meets first: each says what was wrong, with what, and what to do.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { describe, it } from "node:test";
import { CallError, createMCPClient, OperationRegistry } from "@alkdev/operations";
import { operation, registered, rejection } from "./registry/support/operations.mjs";

/** What registering this says. */
function refusal(changes) {
  const spec = changes === undefined || changes === null ? changes : operation({ name: "a", ...changes });
  try {
    new OperationRegistry().register(spec);
  } catch (error) {
    assert.ok(error instanceof CallError);
    assert.equal(error.code, "VALIDATION_ERROR");
    return error.message;
  }
  throw new Error("it was registered");
}

describe("registering", () => {
  it("registering a plain JSON Schema fails with a message that names FromSchema", () => {
    const message = refusal({ inputSchema: { type: "object", properties: { name: { type: "string" } } } });
    assert.match(
      message,
      /^Cannot register operation test\.a: inputSchema: .*JSON Schema.*FromSchema\(schema\)$/,
    );
  });

  it('registering type "QUERY" fails with a message that lists the values', () => {
    assert.equal(
      refusal({ type: "QUERY" }),
      'Cannot register operation test.a: type: Expected "query", "mutation" or "subscription", not "QUERY"',
    );
  });

  it("registering an unknown visibility fails with a message that lists the values", () => {
    assert.match(
      refusal({ visibility: "private" }),
      /visibility: Expected "external" or "internal", not "private"$/,
    );
  });

  it("registering a spec with missing properties reports each once", () => {
    assert.equal(
      refusal({ accessControl: undefined, description: undefined }),
      "Cannot register operation test.a: description: Expected string; accessControl: Expected object",
    );
  });

  it("registering undefined fails with a message", () => {
    assert.equal(refusal(undefined), "Cannot register an operation: spec: Expected an object, not undefined");
    assert.equal(refusal(null), "Cannot register an operation: spec: Expected an object, not null");
  });
});

describe("a call", () => {
  it("a message about an operation with an endless name repeats only its beginning", async () => {
    const registry = new OperationRegistry();
    const id = "x".repeat(1_000_000);
    const error = await registry.execute(id, {}).catch((thrown) => thrown);
    assert.equal(error.message, `Operation not found: ${"x".repeat(200)}... (1000000 characters)`);
    assert.throws(
      () => registry.registerHandler(id, () => 1),
      ({ message }) => message.length < 300,
    );
  });

  it("a message about a timed out call says after how long, and what the deadline was", async () => {
    const { execute } = registered({ namespace: "a", name: "slow", handler: () => new Promise(() => {}) });
    const deadline = Date.now() + 500;
    const { thrown } = await rejection(execute({}, { deadline }));
    assert.match(thrown.message, /^The call of a\.slow timed out after \d+ ms: its deadline was \d{13}$/);
    assert.ok(thrown.message.endsWith(String(deadline)));
  });
});

describe("an MCP URL that serves a web page", () => {
  it("an MCP URL that serves a web page is reported with the type and the host, in plain words", async () => {
    const server = createServer((_, response) => {
      response.writeHead(200, { "content-type": "text/html" });
      response.end("<html><body>Log in</body></html>");
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const url = `http://127.0.0.1:${server.address().port}`;
      const { thrown } = await rejection(createMCPClient("files", { url: `${url}/mcp` }));
      assert.equal(thrown.code, "EXECUTION_ERROR");
      assert.ok(thrown.message.includes("'files'") && thrown.message.includes(url), thrown.message);
      assert.match(thrown.message, /text\/html.*Check that the URL is the address of an MCP server/);
      assert.doesNotMatch(thrown.message, /Some\(|Err\(|::|\{ ?[a-z_]+:|UnexpectedContentType/);
    } finally {
      server.close();
    }
  });
});
