import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  httpEnvelope,
  isResponseEnvelope,
  localEnvelope,
  mcpEnvelope,
  RESPONSE_SOURCES,
  unwrap,
} from "@alkdev/operations";

describe("factories", () => {
  it("localEnvelope wraps with the operation's id and the time of wrapping", () => {
    const before = Date.now();
    const envelope = localEnvelope({ id: 1 }, "task.create");
    const after = Date.now();
    assert.deepEqual(envelope, {
      data: { id: 1 },
      meta: { source: "local", operationId: "task.create", timestamp: envelope.meta.timestamp },
    });
    assert.ok(envelope.meta.timestamp >= before && envelope.meta.timestamp <= after);
  });

  it("an envelope has its data by reference", () => {
    const data = { nested: [] };
    assert.equal(localEnvelope(data, "a.b").data, data);
    assert.equal(httpEnvelope(data, { statusCode: 200, headers: {}, contentType: "" }).data, data);
    assert.equal(mcpEnvelope(data, { isError: false, content: [] }).data, data);
  });

  it("httpEnvelope carries what the response said", () => {
    const meta = { statusCode: 201, headers: { etag: "x" }, contentType: "application/json" };
    assert.deepEqual(httpEnvelope("body", meta), { data: "body", meta: { source: "http", ...meta } });
    const sse = { event: "tick", id: "7", retry: 100 };
    assert.deepEqual(httpEnvelope("body", { ...meta, sse }).meta.sse, sse);
  });

  it("mcpEnvelope carries the tool result", () => {
    const meta = {
      isError: true,
      content: [{ type: "text", text: "no" }],
      structuredContent: { a: 1 },
      _meta: { b: 2 },
    };
    assert.deepEqual(mcpEnvelope(null, meta), { data: null, meta: { source: "mcp", ...meta } });
  });

  it("the source of an envelope cannot be overridden through the metadata", () => {
    assert.equal(mcpEnvelope(1, { source: "local", isError: false, content: [] }).meta.source, "mcp");
    assert.equal(
      httpEnvelope(1, { source: "mcp", statusCode: 200, headers: {}, contentType: "" }).meta.source,
      "http",
    );
  });

  it("an envelope may have undefined as data", () => {
    const envelope = localEnvelope(undefined, "a.b");
    assert.ok("data" in envelope);
    assert.ok(isResponseEnvelope(envelope));
    assert.equal(unwrap(envelope), undefined);
  });

  it("envelopes are plain objects and survive JSON", () => {
    for (const envelope of [
      localEnvelope([1, { a: null }], "a.b"),
      httpEnvelope("x", { statusCode: 200, headers: { a: "b" }, contentType: "text/plain" }),
      mcpEnvelope({}, { isError: false, content: [] }),
    ]) {
      assert.equal(Object.getPrototypeOf(envelope), Object.prototype);
      const copy = JSON.parse(JSON.stringify(envelope));
      assert.deepEqual(copy, envelope);
      assert.ok(isResponseEnvelope(copy));
    }
  });
});

describe("isResponseEnvelope beyond JSON (the JSON cases are in the shared table)", () => {
  it("isResponseEnvelope accepts a class instance with the right fields, and a null prototype", () => {
    class Mine {
      data = 1;
      meta = { source: "local", operationId: "a.b", timestamp: 0 };
    }
    assert.ok(isResponseEnvelope(new Mine()));
    const bare = Object.assign(Object.create(null), new Mine());
    assert.ok(isResponseEnvelope(bare));
  });

  it("isResponseEnvelope refuses everything that is no object", () => {
    for (const value of [undefined, null, 1, "x", true, Symbol("s"), 1n, () => {}]) {
      assert.equal(isResponseEnvelope(value), false);
    }
  });

  it("isResponseEnvelope refuses a function with the right properties", () => {
    const value = Object.assign(() => {}, localEnvelope(1, "a.b"));
    assert.equal(isResponseEnvelope(value), false);
  });

  it("isResponseEnvelope throws what a getter throws", () => {
    const thrown = new Error("mine");
    const value = {
      data: 1,
      get meta() {
        throw thrown;
      },
    };
    assert.throws(
      () => isResponseEnvelope(value),
      (error) => error === thrown,
    );
  });

  it("isResponseEnvelope accepts cycles", () => {
    const value = { data: null, meta: { source: "mcp", isError: false, content: [] } };
    value.data = value;
    assert.ok(isResponseEnvelope(value));
  });
});

describe("small things", () => {
  it("RESPONSE_SOURCES lists the three sources", () => {
    assert.deepEqual(RESPONSE_SOURCES, ["local", "http", "mcp"]);
  });

  it("unwrap returns the data of an envelope", () => {
    const data = {};
    assert.equal(unwrap(localEnvelope(data, "a.b")), data);
  });
});
