// Large results of handlers in files: values of every kind, streams, and what stays in memory.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  buildCallHandler,
  OperationRegistry,
  OperationType,
  PendingRequestMap,
  ResponseEnvelopeSchema,
  validateOrThrow,
} from "@alkdev/operations";
import { toTools } from "@alkdev/operations/tools";
import { Type } from "@sinclair/typebox";
import { mebibytes, memoryWhile } from "../support/memory.mjs";

const folder = mkdtempSync(join(tmpdir(), "spill-registry-"));
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20 }));
let count = 0;

function registryOf(handler, { spill, outputSchema = Type.Unknown(), ...options } = {}) {
  count += 1;
  const dir = join(folder, String(count));
  const registry = new OperationRegistry({ spill: { over: 1_000, dir, ...spill }, ...options });
  registry.register({
    namespace: "a",
    name: "b",
    version: "1",
    type: OperationType.QUERY,
    description: "",
    inputSchema: Type.Unknown(),
    outputSchema,
    accessControl: { requiredScopes: [] },
    handler,
  });
  return { registry, files: () => (existsSync(dir) ? readdirSync(dir) : []), dir };
}
const call = ({ registry }, context) => registry.execute("a.b", {}, context);
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

describe("a large result of a handler", { timeout: 300_000 }, () => {
  it("a large result goes to a file, with its hash, size and beginning", async () => {
    for (const [value, bytes, contentType] of [
      ["ä€𝄞".repeat(300_000), Buffer.from("ä€𝄞".repeat(300_000)), "text/plain; charset=utf-8"],
      [Buffer.alloc(3_000_000, 7), Buffer.alloc(3_000_000, 7), "application/octet-stream"],
      [new ArrayBuffer(5_000), Buffer.alloc(5_000), "application/octet-stream"],
      [new Blob(["x".repeat(5_000)], { type: "text/csv" }), Buffer.from("x".repeat(5_000)), "text/csv"],
    ]) {
      const { data, meta } = await call(registryOf(() => value));
      assert.equal(meta.spill.contentType, contentType);
      assert.deepEqual(readFileSync(meta.spill.path), bytes);
      assert.equal(meta.spill.bytes, bytes.length);
      assert.equal(meta.spill.sha256, sha256(bytes));
      assert.equal(meta.source, "local");
      assert.ok(data.length < 5_000, data.length);
      validateOrThrow(ResponseEnvelopeSchema, { data, meta });
    }
  });

  it("a large object or list goes to a file as JSON.stringify writes it", async () => {
    const list = Array.from({ length: 5_000 }, (_, id) => ({
      id,
      "a key": [null, true, { deep: [{ er: "\u2028é" }] }],
      skipped: undefined,
      at: new Date(id),
    }));
    for (const value of [list, { list, empty: {}, none: [] }, { a: { b: { c: { d: list } } } }]) {
      const { data, meta } = await call(registryOf(() => value));
      assert.equal(readFileSync(meta.spill.path, "utf8"), JSON.stringify(value));
      assert.equal(meta.spill.contentType, "application/json");
      assert.ok(JSON.stringify(value).startsWith(data.slice(0, -1)) && data.endsWith("…"));
    }
  });

  it("a large result holds binary data as the call protocol writes it", async () => {
    const bytes = new Uint8Array(3_000);
    const { meta } = await call(registryOf(() => ({ bytes })));
    const text = readFileSync(meta.spill.path, "utf8");
    assert.deepEqual(JSON.parse(text), { bytes: { $bytes: Buffer.from(bytes).toString("base64") } });
  });

  it("a large result that JSON cannot hold stays in memory", async () => {
    const cycle = { text: "x".repeat(5_000) };
    cycle.self = cycle;
    for (const value of [cycle, { map: new Map(), x: "x".repeat(5_000) }, { n: 1n, x: "x".repeat(5_000) }]) {
      const made = registryOf(() => value);
      const { data, meta } = await call(made);
      assert.equal(data, value);
      assert.equal(meta.spill, undefined);
      assert.deepEqual(made.files(), []);
    }
  });

  it("a large result is brought into the declared shape before it is written", async () => {
    const outputSchema = Type.Array(Type.Object({ a: Type.String() }));
    const value = Array.from({ length: 1_000 }, () => ({ a: "x", b: 1 }));
    const { meta } = await call(registryOf(() => value, { outputSchema, output: "strict" }));
    const written = JSON.parse(readFileSync(meta.spill.path, "utf8"));
    assert.deepEqual(written[0], { a: "x" });
    assert.equal(meta.notes, undefined);
  });

  it("a large result of a stream is written with flat memory", async (t) => {
    const megabytes = Number(process.env.OPERATIONS_SPILL_MEGABYTES ?? 100);
    const piece = Buffer.alloc(1024 * 1024, "0123456789abcdef");
    async function* pieces() {
      for (let i = 0; i < megabytes; i++) yield piece;
    }
    const hash = createHash("sha256");
    for (let i = 0; i < megabytes; i++) hash.update(piece);
    const expected = hash.digest("hex");
    for (const make of [
      () => Readable.from(pieces(), { objectMode: false }),
      () => ReadableStream.from(pieces()),
    ]) {
      const made = registryOf(make);
      const { result, most } = await memoryWhile(() => call(made));
      const { meta } = result;
      t.diagnostic(`${megabytes} MiB, ${mebibytes(most)} more at the most`);
      assert.equal(meta.spill.bytes, megabytes * piece.length);
      assert.equal(meta.spill.sha256, expected);
      assert.ok(most < 80 * 2 ** 20, `${most} bytes`);
      rmSync(meta.spill.path);
    }
  });

  it("a small stream as a result is its text or its bytes", async () => {
    const texts = await call(registryOf(() => ReadableStream.from(["a", "b"])));
    assert.equal(texts.data, "ab");
    const bytes = await call(registryOf(() => ReadableStream.from([Buffer.from("a"), Buffer.from("b")])));
    assert.deepEqual(bytes.data, new Uint8Array([97, 98]));
    const odd = registryOf(() => ReadableStream.from([1]));
    await assert.rejects(call(odd), { code: "EXECUTION_ERROR", message: /neither text nor bytes/ });
  });

  it("a large result whose stream breaks off, or is aborted, leaves no file", async () => {
    async function* broken() {
      yield "x".repeat(5_000);
      throw new Error("gone");
    }
    const made = registryOf(() => ReadableStream.from(broken()));
    await assert.rejects(call(made), /gone/);
    assert.deepEqual(made.files(), []);
    const controller = new AbortController();
    async function* endless() {
      for (;;) {
        yield "x".repeat(5_000);
        await sleep(1);
      }
    }
    const aborted = registryOf(() => ReadableStream.from(endless()));
    const waiting = call(aborted, { signal: controller.signal });
    while (aborted.files().length === 0) await sleep(5);
    controller.abort();
    await assert.rejects(waiting, { code: "ABORTED" });
    while (aborted.files().length > 0) await sleep(5);
    assert.deepEqual(aborted.files(), []);
  });

  it("the file of a large result is private, counted, and removed in time", async () => {
    const large = () => "x".repeat(2_000);
    const made = registryOf(large, { spill: { quota: 3_000 } });
    const { meta } = await call(made);
    if (process.platform !== "win32") assert.equal(statSync(meta.spill.path).mode & 0o777, 0o600);
    await assert.rejects(call(made), { message: /spill\.quota/ });
    assert.equal(made.files().length, 1);
    const short = registryOf(large, { spill: { keep: 100, quota: 3_000 } });
    for (let round = 0; round < 2; round++) {
      let spilled = await call(short).catch(() => undefined);
      while (spilled === undefined) {
        await sleep(5);
        spilled = await call(short).catch(() => undefined);
      }
      while (existsSync(spilled.meta.spill.path)) await sleep(5);
    }
  });

  it("a large MCP result that failed stays in memory, and one that succeeded loses its copies", async () => {
    const { mcpEnvelope } = await import("@alkdev/operations");
    const content = [{ type: "text", text: "x".repeat(5_000) }];
    const failed = await call(registryOf(() => mcpEnvelope(content, { isError: true, content })));
    assert.equal(failed.meta.spill, undefined);
    const { data, meta } = await call(registryOf(() => mcpEnvelope(content, { isError: false, content })));
    assert.equal(readFileSync(meta.spill.path, "utf8"), content[0].text);
    assert.deepEqual(meta.content, [{ type: "text", text: data }]);
    const structuredContent = { list: Array.from({ length: 900 }, (_, i) => i) };
    const other = await call(
      registryOf(() => mcpEnvelope(structuredContent, { isError: false, content, structuredContent })),
    );
    assert.deepEqual(JSON.parse(readFileSync(other.meta.spill.path, "utf8")), structuredContent);
    assert.equal(other.meta.structuredContent, undefined);
  });

  it("a large result stays in memory for callers that cannot be given a file", async () => {
    const { registry, files } = registryOf(() => "x".repeat(5_000));
    const callMap = new PendingRequestMap();
    callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
    const { data, meta } = await callMap.call("a.b", {});
    assert.equal(data.length, 5_000);
    assert.equal(meta.spill, undefined);
    assert.deepEqual(files(), []);
  });

  it("a large result reaches a model with its file, within a deadline too", async () => {
    const made = registryOf(() => "x".repeat(5_000));
    const { content, envelope } = await toTools(made.registry, { target: "anthropic" }).call("a_b", {});
    assert.ok(content.includes(envelope.meta.spill.path), content);
    const { meta } = await call(made, { deadline: Date.now() + 60_000 });
    assert.equal(meta.spill.bytes, 5_000);
  });

  it("a spill configuration that makes no sense is refused", () => {
    for (const spill of [{}, { over: "1" }, { over: 1, dir: 7 }, { over: 1, kept: 1 }]) {
      assert.throws(() => new OperationRegistry({ spill }), { code: "VALIDATION_ERROR", message: /spill/ });
    }
  });
});
