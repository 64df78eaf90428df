// Large results of MCP tools in files: over standard streams, HTTP and event streams.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { OperationRegistry } from "@alkdev/operations";
import { createMCPClient } from "@alkdev/operations/from-mcp";

const folder = mkdtempSync(join(tmpdir(), "spill-mcp-"));

/** A server that writes its answers piece by piece. `form` says what the result is. */
const SERVER = `
const PIECE = "0123456789abcde\\\\n".repeat(65536);
export function* answer(message) {
  const { id, method, params } = message;
  const plain = (result) => JSON.stringify({ jsonrpc: "2.0", id, result });
  if (method === "initialize") {
    yield plain({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } });
  } else if (method === "tools/list") {
    yield plain({ tools: [{ name: "large", inputSchema: { type: "object" } }] });
  } else if (method === "tools/call") {
    const { form, pieces = 0 } = params.arguments;
    const text = function* () { for (let i = 0; i < pieces; i++) yield PIECE; };
    if (form === "text") {
      yield '{"jsonrpc":"2.0","id":' + id + ',"result":{"content":[{"type":"text","text":"';
      yield* text();
      yield '"}],"_meta":{"a":1}}}';
    } else if (form === "structured") {
      yield '{"result":{"content":[{"type":"text","text":"see there"}],"structuredContent":{"list":["';
      yield* text();
      yield '"]}},"jsonrpc":"2.0","id":' + id + '}';
    } else if (form === "error") {
      yield '{"result":{"isError":true,"content":[{"type":"text","text":"';
      yield* text();
      yield '"}]},"jsonrpc":"2.0","id":' + id + '}';
    } else if (form === "blocks") {
      yield plain({ content: [{ type: "text", text: "a" }, { type: "text", text: "b".repeat(5000) }] });
    } else yield plain({ content: [{ type: "text", text: "small" }] });
  } else if (id !== undefined) yield JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } });
}
`;
const STDIO = `
import { createInterface } from "node:readline";
import { once } from "node:events";
import { answer } from "./server.mjs";
for await (const line of createInterface({ input: process.stdin })) {
  for (const piece of [...answer(JSON.parse(line))].length === 0 ? [] : answer(JSON.parse(line))) {
    if (!process.stdout.write(piece)) await once(process.stdout, "drain");
  }
  process.stdout.write("\\n");
}
`;
const PIECE = "0123456789abcde\n".repeat(65_536);
const hashOf = (...pieces) => {
  const hash = createHash("sha256");
  for (const piece of pieces) hash.update(piece);
  return hash.digest("hex");
};

let http;
let answer;
before(async () => {
  writeFileSync(join(folder, "server.mjs"), SERVER);
  writeFileSync(join(folder, "stdio.mjs"), STDIO);
  ({ answer } = await import(`file://${join(folder, "server.mjs")}`));
  http = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    if (request.method !== "POST") return response.writeHead(405).end();
    const message = JSON.parse(body);
    if (message.id === undefined) return response.writeHead(202).end();
    const isStream = request.url === "/events";
    response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
    if (isStream) response.write("data: ");
    for (const piece of answer(message)) {
      if (!response.write(piece)) await new Promise((resolve) => response.once("drain", resolve));
    }
    response.end(isStream ? "\n\n" : "");
  });
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
});
after(() => {
  http.closeAllConnections();
  http.close();
  rmSync(folder, { recursive: true, force: true });
});

let count = 0;
async function connected(way, spill = {}, onRegistry = false, more = {}) {
  count += 1;
  const dir = join(folder, String(count));
  const target =
    way === "stdio"
      ? { command: process.execPath, args: [join(folder, "stdio.mjs")] }
      : { url: `http://127.0.0.1:${http.address().port}/${way}` };
  const given = { over: 1_000, dir, ...spill };
  const client = await createMCPClient("s", {
    ...target,
    timeout: 600_000,
    ...more,
    ...(onRegistry ? {} : { spill: given }),
  });
  const registry = new OperationRegistry(onRegistry ? { spill: given } : {});
  registry.registerAll(client.tools);
  return {
    call: (input, context) => registry.execute("s.large", input, context),
    files: () => (existsSync(dir) ? readdirSync(dir) : []),
    close: () => client.close(),
  };
}

describe("a large result of an MCP tool", { timeout: 300_000 }, () => {
  for (const way of ["stdio", "json", "events"]) {
    it(`a large MCP result goes to a file (${way})`, async () => {
      const { call, files, close } = await connected(way);
      const { data, meta } = await call({ form: "text", pieces: 20 });
      assert.equal(meta.spill.bytes, 20 * PIECE.length);
      assert.equal(meta.spill.sha256, hashOf(...Array(20).fill(PIECE)));
      assert.equal(meta.spill.contentType, "text/plain; charset=utf-8");
      assert.ok(PIECE.startsWith(data.slice(0, -1)) && data.length < 5_000);
      assert.deepEqual(meta.content, [{ type: "text", text: data }]);
      assert.deepEqual(meta._meta, { a: 1 });
      assert.equal(files().length, 1);
      await close();
      const limited = await connected(way, {}, false, { maxResultBytes: 100_000 });
      await assert.rejects(limited.call({ form: "text", pieces: 1 }), { message: /maxResultBytes/ });
      await limited.close();
    });

    it(`the file of a large MCP result has what the data would be (${way})`, async () => {
      for (const onRegistry of [false, true]) {
        const { call, files, close } = await connected(way, {}, onRegistry);
        const structured = await call({ form: "structured", pieces: 2 });
        assert.deepEqual(JSON.parse(readFileSync(structured.meta.spill.path, "utf8")), {
          list: [PIECE + PIECE],
        });
        assert.equal(structured.meta.spill.contentType, "application/json");
        assert.equal(structured.meta.structuredContent, undefined);
        const blocks = await call({ form: "blocks" });
        assert.equal(JSON.parse(readFileSync(blocks.meta.spill.path, "utf8"))[1].text.length, 5_000);
        const small = await call({ form: "small" });
        assert.equal(small.meta.spill, undefined);
        assert.deepEqual(small.data, [{ type: "text", text: "small" }]);
        assert.equal(files().length, 2);
        await close();
      }
    });

    it(`a large MCP result with isError never goes to a file (${way})`, async () => {
      const { call, files, close } = await connected(way);
      const { data, meta } = await call({ form: "error", pieces: 1 });
      assert.equal(meta.isError, true);
      assert.equal(data[0].text, PIECE);
      assert.equal(meta.spill, undefined);
      assert.deepEqual(files(), []);
      await close();
      const limited = await connected(way, {}, false, { maxResultBytes: 100_000 });
      await assert.rejects(limited.call({ form: "error", pieces: 1 }), { message: /maxResultBytes/ });
      await limited.close();
    });

    it(`a large MCP result beyond the quota is an error, and leaves no file (${way})`, async () => {
      const { call, files, close } = await connected(way, { quota: 100_000 });
      await assert.rejects(call({ form: "text", pieces: 1 }), (error) => {
        assert.match(error.message, /spill\.quota/);
        assert.equal(error.details.reason, "spill-quota");
        return true;
      });
      assert.deepEqual(files(), []);
      assert.equal((await call({ form: "small" })).data[0].text, "small");
      await close();
    });
  }
});
