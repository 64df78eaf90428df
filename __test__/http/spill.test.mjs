// Large bodies in files: written while they are received, private, counted, and removed.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { FromOpenAPI, OperationRegistry } from "@alkdev/operations";
import { toTools } from "@alkdev/operations/tools";
import { mebibytes, memoryWhile } from "../support/memory.mjs";

const PIECE = Buffer.alloc(1024 * 1024, "0123456789abcdef");
const folder = mkdtempSync(join(tmpdir(), "spill-test-"));
let server;
let baseUrl;

before(async () => {
  server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://localhost");
    const pieces = Number(url.searchParams.get("pieces"));
    const status = Number(url.searchParams.get("status") ?? 200);
    response.writeHead(status, { "content-type": url.searchParams.get("type") ?? "text/plain" });
    for (let sent = 0; sent < pieces; sent++) {
      if (url.searchParams.has("broken") && sent > 1) return response.destroy();
      if (!response.write(PIECE)) await new Promise((resolve) => response.once("drain", resolve));
    }
    response.end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  baseUrl = `http://127.0.0.1:${server.address().port}`;
});
after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

function registryWith(spill, more = {}) {
  const parameter = (name) => ({ name, in: "query", schema: { type: "string" } });
  const document = {
    openapi: "3.1.0",
    info: { title: "", version: "1" },
    paths: {
      "/": {
        get: {
          operationId: "get",
          parameters: ["pieces", "status", "type", "broken"].map(parameter),
          responses: {
            200: {
              description: "",
              content: {
                "text/plain": {},
                "application/octet-stream": {},
                "application/json": { schema: { type: "object" } },
              },
            },
          },
        },
      },
    },
  };
  const registry = new OperationRegistry();
  registry.registerAll(FromOpenAPI(document, { namespace: "large", baseUrl, spill, ...more }));
  return registry;
}
const call = (registry, input) => registry.execute("large.get", input);
const files = (dir) => (existsSync(dir) ? readdirSync(dir) : []);

describe("a large body", { timeout: 300_000 }, () => {
  it("a large body goes to a file, with flat memory", async (t) => {
    const megabytes = Number(process.env.OPERATIONS_SPILL_MEGABYTES ?? 200);
    const dir = join(folder, "flat");
    const registry = registryWith({ over: 100_000, dir });
    await call(registry, { pieces: "2" });
    const { result, most } = await memoryWhile(() => call(registry, { pieces: String(megabytes) }));
    const { data, meta } = result;
    t.diagnostic(`${megabytes} MiB, ${mebibytes(most)} more at the most, the server's own included`);
    assert.equal(meta.spill.bytes, megabytes * PIECE.length);
    assert.equal(statSync(meta.spill.path).size, megabytes * PIECE.length);
    const hash = createHash("sha256");
    for (let i = 0; i < megabytes; i++) hash.update(PIECE);
    assert.equal(meta.spill.sha256, hash.digest("hex"));
    assert.equal(meta.spill.contentType, "text/plain");
    assert.ok(data.startsWith("0123456789abcdef") && data.length < 5_000);
    assert.ok(most < 100 * 2 ** 20, `${most} bytes`);
  });

  it("the file of a large body is private", { skip: process.platform === "win32" }, async () => {
    const dir = join(folder, "private");
    const { meta } = await call(registryWith({ over: 1_000, dir }), { pieces: "1" });
    assert.equal(statSync(meta.spill.path).mode & 0o777, 0o600);
    assert.equal(statSync(dir).mode & 0o777, 0o700);
  });

  it("a body below the limit stays in memory", async () => {
    const dir = join(folder, "small");
    const { data, meta } = await call(registryWith({ over: 2 * PIECE.length, dir }), { pieces: "2" });
    assert.equal(meta.spill, undefined);
    assert.equal(data.length, 2 * PIECE.length);
    assert.deepEqual(files(dir), []);
  });

  it("the body of an error never goes to a file", async () => {
    const dir = join(folder, "error");
    const registry = registryWith({ over: 1_000, dir });
    await assert.rejects(call(registry, { pieces: "2", status: "500" }), { code: "EXECUTION_ERROR" });
    assert.deepEqual(files(dir), []);
  });

  it("a large body that breaks off leaves no file", async () => {
    const dir = join(folder, "broken");
    await assert.rejects(call(registryWith({ over: 1_000, dir }), { pieces: "9", broken: "1" }));
    assert.deepEqual(files(dir), []);
  });

  it("a large body whose call is aborted leaves no file", async () => {
    const dir = join(folder, "aborted");
    const registry = registryWith({ over: 1_000, dir });
    const controller = new AbortController();
    const waiting = registry.execute("large.get", { pieces: "100000" }, { signal: controller.signal });
    while (files(dir).length === 0) await sleep(5);
    controller.abort();
    await assert.rejects(waiting);
    while (files(dir).length > 0) await sleep(5);
    assert.deepEqual(files(dir), []);
  });

  it("a large body beyond the quota is an error that says so, and leaves no file", async () => {
    const dir = join(folder, "quota");
    const registry = registryWith({ over: 1_000, dir, quota: 3 * PIECE.length });
    const { meta } = await call(registry, { pieces: "2" });
    await assert.rejects(call(registry, { pieces: "2" }), { message: /spill\.quota/ });
    assert.deepEqual(files(dir), [meta.spill.path.slice(dir.length + 1)]);
  });

  it("a large body is removed after `keep`, and no longer counts", async () => {
    const dir = join(folder, "keep");
    const registry = registryWith({ over: 1_000, dir, keep: 30, quota: 3 * PIECE.length });
    for (let round = 0; round < 3; round++) {
      const { meta } = await call(registry, { pieces: "2" });
      while (existsSync(meta.spill.path)) await sleep(5);
      await sleep(20);
    }
    assert.deepEqual(files(dir), []);
  });

  it("a large body that is not of the declared shape is no error", async () => {
    const dir = join(folder, "shape");
    const { data, meta } = await call(registryWith({ over: 1_000, dir }), {
      pieces: "1",
      type: "application/json",
    });
    assert.equal(typeof data, "string");
    assert.deepEqual(readFileSync(meta.spill.path), PIECE);
    assert.equal(meta.notes, undefined);
  });

  it("a large body that is binary is described", async () => {
    const dir = join(folder, "binary");
    const registry = registryWith({ over: 1_000, dir });
    const { data } = await call(registry, { pieces: "1", type: "application/octet-stream" });
    assert.match(data, /application\/octet-stream, 1048576 bytes, in a file/);
  });

  it("a large body reaches a model with its file", async () => {
    const dir = join(folder, "model");
    const tools = toTools(registryWith({ over: 1_000, dir }), { target: "anthropic" });
    const { content, envelope } = await tools.call("large_get", { pieces: "1" });
    assert.ok(content.includes(envelope.meta.spill.path), content);
    assert.match(content, /1048576 bytes/);
  });

  it("a spill configuration of an import that makes no sense is refused", () => {
    for (const spill of [
      {},
      { over: "1" },
      { over: 1, dir: 7 },
      { over: 1, quota: -1 },
      { over: 1, kept: 1 },
    ]) {
      assert.throws(() => registryWith(spill), { code: "VALIDATION_ERROR", message: /spill/ });
    }
  });
});
