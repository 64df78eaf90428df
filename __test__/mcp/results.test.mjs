// What a tool's result becomes.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  CallError,
  isResponseEnvelope,
  mapMCPContentBlocks,
  ResponseEnvelopeSchema,
} from "@alkdev/operations";
import { Value } from "@sinclair/typebox/value";
import { connected, failure, stdio } from "./support/servers.mjs";

describe("a result", () => {
  it("a result with content only has its blocks as data", async (t) => {
    const { call } = await connected(t, stdio());
    const envelope = await call("echo", { text: "hello" });
    assert.ok(isResponseEnvelope(envelope));
    assert.ok(Value.Check(ResponseEnvelopeSchema, envelope));
    assert.deepEqual(envelope.data, [{ type: "text", text: "hello" }]);
    assert.equal(envelope.meta.source, "mcp");
    assert.equal(envelope.meta.isError, false);
    assert.deepEqual(envelope.meta.content, envelope.data);
    assert.ok(!("structuredContent" in envelope.meta && envelope.meta.structuredContent !== undefined));
  });

  it("a result with structured content has that as data", async (t) => {
    const { call } = await connected(t, stdio());
    const envelope = await call("person");
    assert.deepEqual(envelope.data, { name: "Ada", age: 36, role: "admin" });
    assert.deepEqual(envelope.meta.structuredContent, envelope.data);
    assert.equal(envelope.meta.content[0].type, "text");
    const other = await call("undeclared-structure");
    assert.deepEqual(other.data, { any: ["thing"] });
  });

  it("a result that does not quite fit its schema is normalised, and is in meta as it came", async (t) => {
    const { call } = await connected(t, stdio());
    const envelope = await call("sloppy-person");
    assert.deepEqual(envelope.data, { name: "Ada", age: 36, role: "guest" });
    assert.deepEqual(envelope.meta.structuredContent, { name: "Ada", age: "36", secret: true });
  });

  it("a result is normalised as `output` says", async (t) => {
    const keep = await connected(t, stdio([], { output: "keep" }));
    assert.equal(keep.tool("person")._meta.output, "keep");
    assert.deepEqual((await keep.call("sloppy-person")).data, {
      name: "Ada",
      age: 36,
      role: "guest",
      secret: true,
    });
    const off = await connected(t, stdio([], { output: "off" }));
    assert.deepEqual((await off.call("sloppy-person")).data, { name: "Ada", age: "36", secret: true });
  });

  it("a result may have content of every kind, known or not", async (t) => {
    const { call } = await connected(t, stdio());
    const envelope = await call("every-content");
    const hologram = { type: "hologram", depth: 3 };
    assert.deepEqual(envelope.data, [
      { type: "text", text: "t", annotations: { audience: ["user"], priority: 1 }, _meta: { a: 1 } },
      { type: "image", data: "aW1n", mimeType: "image/png" },
      { type: "audio", data: "c25k", mimeType: "audio/wav" },
      { type: "resource", resource: { uri: "test://r", mimeType: "text/plain", text: "r" } },
      { type: "resource_link", uri: "test://l", name: "l", title: "L", size: 3 },
      { type: "text", text: JSON.stringify(hologram) },
      { type: "text", text: JSON.stringify({ type: "text" }) },
    ]);
    assert.deepEqual(envelope.meta.content, envelope.data);
    assert.deepEqual(mapMCPContentBlocks([hologram]), [{ type: "text", text: JSON.stringify(hologram) }]);
    assert.deepEqual(envelope.meta._meta, { "test/cost": 7 });
  });

  it("a result without anything in it is an envelope", async (t) => {
    const { call } = await connected(t, stdio());
    const envelope = await call("no-content");
    assert.deepEqual(envelope.data, []);
    assert.equal(envelope.meta.isError, false);
  });
});

describe("isError", () => {
  it("a result with isError is an envelope, not normalised", async (t) => {
    const { call } = await connected(t, stdio());
    const envelope = await call("fail");
    assert.equal(envelope.meta.isError, true);
    assert.deepEqual(envelope.data, [{ type: "text", text: "no such person" }]);
  });

  it("a result with isError is thrown with onToolError, with the envelope in the details", async (t) => {
    const { call } = await connected(t, stdio([], { onToolError: "throw" }));
    const error = await failure(call("fail"));
    assert.ok(error instanceof CallError);
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /no such person/);
    assert.equal(error.details.envelope.meta.isError, true);
    assert.ok(isResponseEnvelope(error.details.envelope));
    assert.equal((await call("echo", { text: "fine" })).data[0].text, "fine");
  });
});

describe("JSON in a text block", () => {
  it("JSON in a text block stays text by default", async (t) => {
    const { tool } = await connected(t, stdio());
    const { data } = await tool("json-text").handler({}, {});
    assert.equal(data[0].type, "text");
  });

  it("JSON in a text block is parsed with parseJSONText, and normalised", async (t) => {
    const { call } = await connected(t, stdio([], { parseJSONText: true }));
    const envelope = await call("json-text");
    assert.deepEqual(envelope.data, { name: "Ada", age: 36, role: "admin" });
    assert.equal(envelope.meta.content[0].type, "text");
    assert.equal(envelope.meta.structuredContent, undefined);
  });

  it("JSON in a text block is parsed only if it is one block with an object or an array", async (t) => {
    const { tool, call } = await connected(t, stdio([], { parseJSONText: true }));
    assert.deepEqual((await tool("arguments").handler({ a: [1] }, {})).data, { a: [1] });
    for (const text of ["7", '"text"', "null", "true", "{broken", "plain"]) {
      const { data } = await tool("json-text").handler({ text }, {});
      assert.deepEqual(data, [{ type: "text", text }]);
    }
    assert.equal((await call("two-texts")).data.length, 2);
    assert.equal((await call("fail")).data[0].text, "no such person");
    assert.deepEqual((await call("undeclared-structure")).data, { any: ["thing"] });
  });
});

it("an MCP option with a wrong value is refused", async (t) => {
  for (const [field, value] of [
    ["onToolError", "explode"],
    ["output", "shred"],
    ["parseJSONText", "yes"],
    ["version", 3],
  ]) {
    const error = await failure(connected(t, stdio([], { [field]: value })));
    assert.equal(error.code, "VALIDATION_ERROR", field);
    assert.match(error.message, new RegExp(field));
  }
});
