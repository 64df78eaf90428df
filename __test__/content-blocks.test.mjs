import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MCPContentBlockSchema, mapMCPContentBlocks } from "@alkdev/operations";
import * as fromMcp from "@alkdev/operations/from-mcp";
import { Value } from "@sinclair/typebox/value";

const annotations = { audience: ["user"], priority: 0.5 };
const known = [
  { type: "text", text: "hello", annotations, _meta: { a: 1 } },
  { type: "image", data: "aGk=", mimeType: "image/png", annotations },
  { type: "audio", data: "aGk=", mimeType: "audio/wav", _meta: { a: 1 } },
  { type: "resource", resource: { uri: "file:///a", mimeType: "text/plain", text: "x" }, annotations },
  { type: "resource", resource: { uri: "file:///b", blob: "aGk=", _meta: {} } },
  {
    type: "resource_link",
    uri: "file:///a",
    name: "a",
    title: "A",
    description: "the file",
    mimeType: "text/plain",
    size: 12,
    annotations,
  },
];

describe("mapMCPContentBlocks", () => {
  it("mapMCPContentBlocks keeps the five kinds, field by field", () => {
    const mapped = mapMCPContentBlocks(known);
    assert.deepEqual(mapped, known);
    assert.notEqual(mapped[0], known[0]);
    for (const block of mapped) assert.ok(Value.Check(MCPContentBlockSchema, block));
  });

  it("mapMCPContentBlocks omits fields that the kind does not have", () => {
    assert.deepEqual(mapMCPContentBlocks([{ type: "text", text: "a", extra: 1 }]), [
      { type: "text", text: "a" },
    ]);
    assert.deepEqual(mapMCPContentBlocks([{ type: "resource", resource: { uri: "u", extra: 1 } }]), [
      { type: "resource", resource: { uri: "u" } },
    ]);
  });

  it("mapMCPContentBlocks turns anything else into text", () => {
    for (const block of [
      { type: "video", data: "aGk=" },
      { type: "text" },
      { type: "image", data: 1, mimeType: "image/png" },
      { type: "resource" },
      { type: "resource", resource: {} },
      { type: "resource", resource: null },
      {},
      "just text",
      null,
      7,
      { type: "toString" },
      { type: "__proto__" },
    ]) {
      assert.deepEqual(mapMCPContentBlocks([block]), [{ type: "text", text: JSON.stringify(block) }]);
    }
  });

  it("mapMCPContentBlocks does not throw for what cannot be JSON, or is no list", () => {
    const cycle = { type: "cycle" };
    cycle.self = cycle;
    assert.equal(mapMCPContentBlocks([cycle])[0].type, "text");
    assert.equal(mapMCPContentBlocks([undefined])[0].text, "undefined");
    assert.deepEqual(mapMCPContentBlocks(undefined), []);
    assert.deepEqual(mapMCPContentBlocks([]), []);
  });

  it("mapMCPContentBlocks is the same function under both paths", () => {
    assert.equal(fromMcp.mapMCPContentBlocks, mapMCPContentBlocks);
  });
});
