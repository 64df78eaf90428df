// What an attacker tries on the wire: the frames of HTTP/2, pipelines, and JSON that means two things.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import { Type } from "@sinclair/typebox";
import { makeCertificates } from "../http/certificates.mjs";
import { operation, post, raw, serving } from "./support.mjs";

const folder = mkdtempSync(join(tmpdir(), "operations-attacks-"));
after(() => rmSync(folder, { recursive: true }));
const { ca, cert, key } = makeCertificates();
const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
writeFileSync(certFile, cert);
writeFileSync(keyFile, key);

/** A frame of HTTP/2. */
function frame(type, flags, stream, payload = Buffer.alloc(0)) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
const [HEADERS, RESET, SETTINGS, PING, CONTINUATION] = [1, 3, 4, 6, 9];
const [END_STREAM, END_HEADERS] = [1, 4];
const PREFACE = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(SETTINGS, 0, 0)]);

/** Headers of a request in HPACK, each as a literal without an index. */
function block(headers) {
  const text = (value) => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
  const pairs = Object.entries(headers);
  return Buffer.concat(pairs.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]));
}
const request = (path) =>
  block({ ":method": "GET", ":scheme": "https", ":authority": "localhost", ":path": path });

/** Sends frames as long as the server takes them, and waits for the end of the connection. */
async function flood(url, make, most) {
  const { port } = new URL(url);
  const socket = connectTls({
    port: Number(port),
    host: "127.0.0.1",
    servername: "localhost",
    ca,
    ALPNProtocols: ["h2"],
  });
  const closed = new Promise((resolve) => socket.on("close", resolve));
  socket.on("error", () => {}).resume();
  await new Promise((resolve) => socket.once("secureConnect", resolve));
  socket.write(PREFACE);
  let sent = 0;
  for (; sent < most && !socket.destroyed; sent++) {
    if (!socket.write(make(sent))) {
      await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), closed]);
    }
    if (sent % 100 === 0) await new Promise(setImmediate);
  }
  const isCut = await Promise.race([
    closed.then(() => true),
    new Promise((resolve) => setTimeout(resolve, 2_000, false)),
  ]);
  socket.destroy();
  await closed;
  return { sent, isCut };
}

/** The types of the frames in some bytes. */
function* framesIn(bytes) {
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) yield bytes[at + 3];
}

describe("HTTP/2", () => {
  it("HTTP/2 frames made by hand are a request to the server", async () => {
    const { url } = await serving([operation({ name: "it" })], { tls: { certFile, keyFile } });
    const options = { port: Number(new URL(url).port), host: "127.0.0.1", servername: "localhost" };
    const socket = connectTls({ ...options, ca, ALPNProtocols: ["h2"] });
    socket.write(Buffer.concat([PREFACE, frame(HEADERS, END_STREAM | END_HEADERS, 1, request("/health"))]));
    let bytes = Buffer.alloc(0);
    for await (const data of socket) {
      bytes = Buffer.concat([bytes, data]);
      if ([...framesIn(bytes)].includes(HEADERS)) break;
    }
    assert.ok([...framesIn(bytes)].includes(HEADERS));
    assert.ok(!bytes.includes("error"));
  });

  for (const [what, make] of [
    [
      "requests that are taken back at once (rapid reset)",
      (n) => {
        const stream = 2 * n + 1;
        const head = frame(HEADERS, END_STREAM | END_HEADERS, stream, request("/api/test/slow?n=1"));
        return Buffer.concat([head, frame(RESET, 0, stream, Buffer.from([0, 0, 0, 8]))]);
      },
    ],
    [
      "headers without an end (CONTINUATION flood)",
      (n) =>
        n === 0
          ? frame(HEADERS, END_STREAM, 1, request("/api/test/slow"))
          : frame(CONTINUATION, 0, 1, block({ [`x-${n}`]: "y".repeat(100) })),
    ],
    [
      "empty pieces of headers",
      (n) => (n === 0 ? frame(HEADERS, END_STREAM, 1, request("/")) : frame(CONTINUATION, 0, 1)),
    ],
  ]) {
    it(`HTTP/2 ${what}: the connection is cut, and others are served`, async () => {
      let running = 0;
      const slow = operation({
        name: "slow",
        inputSchema: Type.Object({ n: Type.Optional(Type.Number()) }),
        handler: (_, { signal }) => {
          running += 1;
          return new Promise((resolve) => {
            signal.addEventListener("abort", () => {
              running -= 1;
              resolve();
            });
          });
        },
      });
      const { url, stats } = await serving([slow], { tls: { certFile, keyFile } });
      const { isCut, sent } = await flood(url, make, 20_000);
      assert.ok(isCut, `${sent} were taken`);
      while (stats().connections > 0 || stats().running > 0 || running > 0) await new Promise(setImmediate);
    });
  }

  it("endless HTTP/2 pings and settings are acknowledged, or the connection is cut; memory does not grow", async () => {
    const { url, stats } = await serving([operation({ name: "it" })], { tls: { certFile, keyFile } });
    const before = process.memoryUsage.rss();
    await flood(
      url,
      () => Buffer.concat([frame(PING, 0, 0, Buffer.alloc(8)), frame(SETTINGS, 0, 0)]),
      20_000,
    );
    while (stats().connections > 0) await new Promise(setImmediate);
    const grown = (process.memoryUsage.rss() - before) / 1e6;
    assert.ok(grown < 100, `${grown} MB`);
  });
});

describe("a pipeline", () => {
  it("pipelined requests are answered in order, one after the other", async () => {
    let [running, most] = [0, 0];
    const slow = operation({
      name: "slow",
      inputSchema: Type.Object({ n: Type.Number() }),
      handler: async ({ n }) => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setTimeout(resolve, n % 3));
        running -= 1;
        return n;
      },
    });
    const { url } = await serving([slow]);
    const each = (n, last) =>
      `GET /api/test/slow?n=${n} HTTP/1.1\r\nhost: localhost\r\n${last ? "connection: close\r\n" : ""}\r\n`;
    const said = await raw(url, Array.from({ length: 100 }, (_, n) => each(n, n === 99)).join(""));
    const bodies = [...said.matchAll(/\r\n\r\n(\d+)/g)].map(([, n]) => Number(n));
    assert.deepEqual(
      bodies,
      Array.from({ length: 100 }, (_, n) => n),
    );
    assert.equal(most, 1);
  });
});

describe("JSON that means two things", () => {
  const echo = operation({
    name: "echo",
    handler: (input) => ({ input: JSON.stringify(input), own: Object.keys(input) }),
  });

  const sent = async (body) => {
    const { url } = await serving([echo]);
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${url}/api/test/echo`, { method: "POST", headers, body });
    return { status: response.status, body: await response.json() };
  };

  it("JSON with one member name twice has the last value, as with JSON.parse", async () => {
    const { body } = await sent('{"a":1,"b":2,"a":3}');
    assert.equal(body.input, '{"a":3,"b":2}');
  });

  it("JSON may have __proto__ as a member name like any other", async () => {
    const { body } = await sent(
      '{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}}}',
    );
    assert.deepEqual(body.own, ["__proto__", "constructor"]);
    assert.equal({}.isAdmin, undefined);
  });

  it("JSON numbers beyond what a double can hold are refused or preserved", async () => {
    for (const number of [
      "1e999999999",
      "9".repeat(100_000),
      `0.${"1".repeat(100_000)}`,
      `1${"0".repeat(400)}`,
    ]) {
      const { status } = await sent(`{"n":${number}}`);
      assert.ok([200, 400].includes(status), `${number.slice(0, 20)}: ${status}`);
    }
  });

  it("JSON is parsed up to the depth limit, and refused beyond", async () => {
    for (const depth of [100, 5_000, 100_000]) {
      const { status } = await sent(`${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`);
      assert.ok(depth > 100 ? status === 400 : status === 200, `${depth}: ${status}`);
    }
  });

  it("JSON with two meanings is refused as an MCP message, or means the same", async () => {
    const { url } = await serving([echo], { doors: { mcp: { name: "t", version: "1" } } });
    const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" };
    for (const body of [
      '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}',
      '{"jsonrpc":"2.0","id":1e999,"method":"ping"}',
      `{"jsonrpc":"2.0","id":${"9".repeat(10_000)},"method":"ping"}`,
      '{"jsonrpc":"2.0","id":{"__proto__":1},"method":"ping"}',
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":${"[".repeat(50_000)}${"]".repeat(50_000)}}`,
    ]) {
      const response = await fetch(`${url}/mcp`, { method: "POST", headers, body });
      assert.ok([200, 400].includes(response.status), `${body.slice(0, 60)}: ${response.status}`);
      await response.text();
    }
  });
});

describe("a path", () => {
  it("a path leads to one operation, however it is written, or to no operation", async () => {
    let calls = 0;
    const secret = operation({
      name: "secret",
      type: "mutation",
      accessControl: { requiredScopes: ["admin"] },
      handler: () => ++calls,
    });
    const open = operation({ name: "open", type: "mutation" });
    const { url } = await serving([secret, open], {
      doors: { http: { path: "/v1/api" }, mcp: { path: "/v1/mcp", name: "t", version: "1" } },
    });
    for (const path of [
      "/v1/api/test/secret",
      "/v1/api/test/%73ecret",
      "/v1/api/test/open/../secret",
      "/v1/api/test/open/%2e%2e/secret",
      "/v1/api//test/secret",
      "/v1/./api/test/secret",
      "/v1/api/test/secret/",
      "/v1/api/test/secret;a=b",
      "/v1/api/test/secret%00",
      "/v1/api/test\\secret",
      "/V1/API/test/secret",
      "/v1/apitest/secret",
      "http://localhost/v1/api/test/secret",
    ]) {
      const text = `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`;
      assert.match(await raw(url, text), /^HTTP\/1\.1 (400|401|403|404) /, path);
    }
    assert.equal(calls, 0);
    assert.equal((await post(`${url}/v1/api/test/open`, {})).status, 200);
  });
});
