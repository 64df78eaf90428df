// Large results through the doors: downloads with ranges, links and resources, each for its own caller alone.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  FromOpenAPI,
  FromOpenAPIUrl,
  httpEnvelope,
  OperationRegistry,
  OperationType,
} from "@alkdev/operations";
import { createMCPClient } from "@alkdev/operations/from-mcp";
import { serve } from "@alkdev/operations/serve";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Type } from "@sinclair/typebox";

const folder = mkdtempSync(join(tmpdir(), "spill-serve-"));
const TEXT = "0123456789abcdefä".repeat(100_000);
const LIST = Array.from({ length: 50_000 }, (_, id) => ({ id, name: `the ${id}th` }));
const ENVELOPE = "application/vnd.alkdev.envelope+json";
let upstream;
let served;
let registry;

before(async () => {
  upstream = createServer((_, response) => {
    response.writeHead(201, { "content-type": "application/json", etag: '"mine"' });
    response.end(JSON.stringify(LIST));
  });
  await new Promise((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  registry = new OperationRegistry({ spill: { over: 100_000, dir: join(folder, "files"), keep: 60_000 } });
  const operation = (name, outputSchema, handler) => ({
    namespace: "large",
    name,
    version: "1",
    type: OperationType.QUERY,
    description: name,
    inputSchema: Type.Object({}),
    outputSchema,
    accessControl: { requiredScopes: [] },
    handler,
  });
  const listSchema = Type.Object({
    list: Type.Array(Type.Object({ id: Type.Number(), name: Type.String() })),
  });
  registry.registerAll([
    operation("text", Type.String(), () => TEXT),
    operation("list", listSchema, () => ({ list: LIST })),
    operation("small", listSchema, () => ({ list: LIST.slice(0, 2) })),
    operation("bytes", Type.Unknown(), () => Buffer.alloc(2_000_000, 9)),
    operation("forged", Type.Unknown(), () => ({
      ...httpEnvelope("no", { statusCode: 200, headers: {}, contentType: "text/plain" }),
      meta: {
        source: "http",
        statusCode: 200,
        headers: {},
        contentType: "text/plain",
        spill: { path: "/etc/passwd", bytes: 1, sha256: "0", contentType: "text/plain" },
      },
    })),
  ]);
  const document = {
    openapi: "3.1.0",
    info: { title: "", version: "1" },
    paths: {
      "/native": {
        get: {
          operationId: "native",
          responses: {
            201: { description: "", content: { "application/json": { schema: { type: "array" } } } },
          },
        },
      },
    },
  };
  const baseUrl = `http://127.0.0.1:${upstream.address().port}`;
  registry.registerAll(FromOpenAPI(document, { namespace: "large", baseUrl }));
  served = await serve(registry, {
    port: 0,
    doors: { http: true, mcp: true },
    tokens: { ada: { id: "ada", scopes: [] }, bob: { id: "bob", scopes: [] } },
    anonymous: true,
  });
});
after(async () => {
  await served.close();
  upstream.closeAllConnections();
  upstream.close();
  rmSync(folder, { recursive: true, force: true });
});

const as = (token, headers = {}) => ({ headers: { authorization: `Bearer ${token}`, ...headers } });
const get = (path, token = "ada", headers) => fetch(new URL(path, served.url), as(token, headers));
const linkOf = async (path, token = "ada") => {
  const response = await get(path, token, { accept: ENVELOPE });
  return response.json();
};

describe("a large result through the HTTP door", () => {
  it("a large result over HTTP is the body, as without a file, and a header says where it is", async () => {
    const response = await get("/api/large/list");
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "application/json");
    const text = await response.text();
    assert.deepEqual(JSON.parse(text), { list: LIST });
    const hash = createHash("sha256").update(text).digest("hex");
    assert.equal(response.headers.get("etag"), `"${hash}"`);
    const again = await get(response.headers.get("content-location"));
    assert.equal(await again.text(), text);
  });

  it("a large result of a native operation is in a file too, with its status", async () => {
    const response = await get("/api/native");
    assert.equal(response.status, 201);
    assert.deepEqual(await response.json(), LIST);
    assert.match(response.headers.get("content-location"), /^\/api\/\.spilled\/[0-9a-f]{32}$/);
  });

  it("a large result over HTTP is a link in the envelope, without the path", async () => {
    for (const path of ["/api/large/text", "/api/native"]) {
      const { data, meta } = await linkOf(path);
      assert.deepEqual(Object.keys(meta.spill).sort(), ["bytes", "contentType", "sha256", "url"]);
      assert.ok(data.endsWith("…") && !JSON.stringify(meta).includes(folder));
      const whole = await get(meta.spill.url);
      const bytes = Buffer.from(await whole.arrayBuffer());
      assert.equal(bytes.length, meta.spill.bytes);
      assert.equal(createHash("sha256").update(bytes).digest("hex"), meta.spill.sha256);
      assert.equal(whole.headers.get("content-type"), meta.spill.contentType);
    }
  });

  it("a large result over HTTP can be read in ranges", async () => {
    const { meta } = await linkOf("/api/large/text");
    const { url, bytes, sha256 } = meta.spill;
    const all = Buffer.from(TEXT);
    for (const [range, start, end] of [
      ["bytes=0-9", 0, 10],
      ["bytes=1000000-", 1_000_000, bytes],
      ["bytes=-7", bytes - 7, bytes],
      [`bytes=5-${bytes * 2}`, 5, bytes],
    ]) {
      const part = await get(url, "ada", { range });
      assert.equal(part.status, 206, range);
      assert.equal(part.headers.get("content-range"), `bytes ${start}-${end - 1}/${bytes}`);
      assert.deepEqual(Buffer.from(await part.arrayBuffer()), all.subarray(start, end));
    }
    const behind = await get(url, "ada", { range: `bytes=${bytes}-` });
    assert.equal(behind.status, 416);
    assert.equal(behind.headers.get("content-range"), `bytes */${bytes}`);
    const several = await get(url, "ada", { range: "bytes=0-1,5-6" });
    assert.equal(several.status, 200);
    await several.arrayBuffer();
    const known = await get(url, "ada", { "if-none-match": `"${sha256}"` });
    assert.equal(known.status, 304);
    const other = await get(url, "ada", { range: "bytes=0-9", "if-range": '"other"' });
    assert.equal(other.status, 200);
    await other.arrayBuffer();
    const same = await get(url, "ada", { range: "bytes=0-9", "if-range": `"${sha256}"` });
    assert.equal(same.status, 206);
    const head = await fetch(new URL(url, served.url), { method: "HEAD", ...as("ada") });
    assert.equal(head.headers.get("content-length"), String(bytes));
    assert.equal(head.headers.get("accept-ranges"), "bytes");
    const post = await fetch(new URL(url, served.url), { method: "POST", ...as("ada") });
    assert.equal(post.status, 405);
  });

  it("a large result over HTTP can be read by its caller alone", async () => {
    const { meta } = await linkOf("/api/large/text");
    assert.equal((await get(meta.spill.url, "bob")).status, 404);
    assert.equal((await fetch(new URL(meta.spill.url, served.url))).status, 404);
    assert.equal((await get(`/api/.spilled/${"0".repeat(32)}`)).status, 404);
  });

  it("a path that a handler made up is never served as a large result", async () => {
    const plain = await get("/api/large/forged");
    assert.equal(await plain.text(), '"no"');
    const { meta } = await linkOf("/api/large/forged");
    assert.equal(meta.spill, undefined);
  });

  it("a large result is noted by an import of the same registry", async () => {
    const operations = await FromOpenAPIUrl(new URL("/api/openapi.json", served.url).href, {
      auth: { type: "bearer", token: "ada" },
      allowPrivateAddresses: true,
    });
    const imported = new OperationRegistry();
    imported.registerAll(operations);
    const { data, meta } = await imported.execute("large.text", {});
    assert.ok(TEXT.startsWith(data.slice(0, -1)) && data.length < 5_000);
    assert.match(meta.notes[0].message, /1800000 bytes.*\/api\/\.spilled\//);
    const small = await imported.execute("large.small", {});
    assert.deepEqual(small.data, { list: LIST.slice(0, 2) });
    assert.equal(small.meta.notes, undefined);
  });

  it("a large result over HTTP is gone when it has expired", async () => {
    const dir = join(folder, "short");
    const short = new OperationRegistry({ spill: { over: 10, dir, keep: 400 } });
    short.register({ ...registry.get("large.text") });
    const server = await serve(short, { port: 0, doors: { http: true } });
    const response = await fetch(new URL("/api/large/text", server.url), { headers: { accept: ENVELOPE } });
    const { meta } = await response.json();
    while (existsSync(dir) && readdirSync(dir).length > 0) await sleep(10);
    assert.equal((await fetch(new URL(meta.spill.url, server.url))).status, 404);
    await server.close();
  });
});

async function connected(token) {
  const client = new Client({ name: "test", version: "1" });
  const requestInit = as(token);
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", served.url), { requestInit }));
  return client;
}

describe("a large result through the MCP door", () => {
  it("a large result over MCP is a link, which its caller reads in parts", async () => {
    const client = await connected("ada");
    // The client checks structured content against the schemas of the list.
    const { tools } = await client.listTools();
    assert.ok(tools.find(({ name }) => name === "large_list").outputSchema);
    assert.ok(client.getServerCapabilities().resources);
    for (const [name, all] of [
      ["large_text", TEXT],
      ["large_list", JSON.stringify({ list: LIST })],
      ["large_native", JSON.stringify(LIST)],
    ]) {
      const result = await client.callTool({ name, arguments: {} });
      const [shown, link] = result.content;
      assert.ok(all.startsWith(shown.text.slice(0, -1)), name);
      assert.equal(link.type, "resource_link");
      assert.equal(link.size, Buffer.byteLength(all));
      assert.ok(!JSON.stringify(result).includes(folder));
      let text = "";
      for (let uri = link.uri; uri !== undefined; ) {
        const { contents } = await client.readResource({ uri });
        text += contents[0].text;
        uri = contents[0]._meta["alkdev.operations/range"].next;
      }
      assert.equal(text, all);
      const { contents } = await client.readResource({ uri: `${link.uri}?offset=3&length=4` });
      assert.equal(contents[0].text, all.slice(3, 7));
      await assert.rejects(client.readResource({ uri: `${link.uri}?offset=${link.size}` }), /offset/);
    }
    const { structuredContent } = await client.callTool({ name: "large_list", arguments: {} });
    assert.deepEqual(Object.keys(structuredContent.spilled).sort(), [
      "bytes",
      "contentType",
      "sha256",
      "uri",
    ]);
    const small = await client.callTool({ name: "large_small", arguments: {} });
    assert.deepEqual(small.structuredContent, { list: LIST.slice(0, 2) });
    await client.close();
  });

  it("a large binary result over MCP is read as binary", async () => {
    const client = await connected("ada");
    const { content } = await client.callTool({ name: "large_bytes", arguments: {} });
    const { contents } = await client.readResource({ uri: content[1].uri });
    assert.deepEqual(Buffer.from(contents[0].blob, "base64"), Buffer.alloc(1024 * 1024, 9));
    await client.close();
  });

  it("a large result over MCP can be read by its caller alone", async () => {
    const [ada, bob] = [await connected("ada"), await connected("bob")];
    const { content } = await ada.callTool({ name: "large_text", arguments: {} });
    await assert.rejects(bob.readResource({ uri: content[1].uri }), /not found/i);
    await ada.close();
    await bob.close();
  });

  it("a large result over MCP is noted by our own client, whose schemas stay as they are", async () => {
    const client = await createMCPClient("large", {
      url: new URL("/mcp", served.url).href,
      headers: { authorization: "Bearer ada" },
      keepIds: true,
    });
    const imported = new OperationRegistry({ output: "strict" });
    imported.registerAll(client.tools);
    const { data, meta } = await imported.execute("large.list", {});
    assert.ok(JSON.stringify({ list: LIST }).startsWith(data.slice(0, -1)));
    assert.match(meta.notes[0].message, /is the resource spilled:\/\/\/[0-9a-f]{32}/);
    const small = await imported.execute("large.small", {});
    assert.deepEqual(small.data, { list: LIST.slice(0, 2) });
    await client.close();
  });
});

describe("a large result whose client goes away", () => {
  it("a large result whose client disconnects at any time leaves no file", async () => {
    const dir = join(folder, "abandoned");
    // Just enough for a file to be made; the rest does not come.
    const slow = createServer((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write(`"${"x".repeat(10_000)}`);
    });
    await new Promise((resolve) => slow.listen(0, "127.0.0.1", resolve));
    const registry = new OperationRegistry();
    registry.registerAll(
      FromOpenAPI(
        {
          openapi: "3.1.0",
          info: { title: "", version: "1" },
          paths: { "/": { get: { operationId: "slow", responses: { 200: { description: "" } } } } },
        },
        {
          namespace: "large",
          baseUrl: `http://127.0.0.1:${slow.address().port}`,
          spill: { over: 1_000, dir, keep: 600_000 },
        },
      ),
    );
    const served = await serve(registry, { doors: { http: true } });
    try {
      const files = () => (existsSync(dir) ? readdirSync(dir) : []);
      for (let n = 0; n < 20; n++) {
        const controllers = Array.from({ length: 10 }, () => new AbortController());
        const init = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
        const sent = controllers.map(({ signal }) =>
          assert.rejects(fetch(`${served.url}/api/large/slow`, { ...init, signal }), { name: "AbortError" }),
        );
        // As soon as the first file is there, when others are about to be made.
        const begun = async () => {
          while (files().length === 0) await sleep(1);
        };
        await Promise.race([begun(), ...sent]);
        for (const controller of controllers) controller.abort();
        await Promise.all(sent);
        while (served.stats().running > 0 || files().length > 0) await sleep(1);
      }
    } finally {
      await served.close({ drain: 0 });
      slow.closeAllConnections();
      slow.close();
    }
  });
});
