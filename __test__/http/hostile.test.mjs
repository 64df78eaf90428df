// Servers that break the rules. Whatever they send, a call ends with an error that says so, and the process lives.

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { after, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { CallError } from "@alkdev/operations";
import { assertNoStalls } from "../support/event-loop.mjs";
import { answers, failureOf, single } from "./support.mjs";

assertNoStalls();

/** A server that says exactly this, whatever it is asked. */
async function saying(...pieces) {
  const sockets = new Set();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("data", async () => {
      for (const piece of pieces) {
        if (typeof piece === "function") await piece(socket);
        else socket.write(piece);
      }
      socket.end();
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

const OK = "HTTP/1.1 200 OK\r\n";
const JSON_TYPE = "Content-Type: application/json\r\n";
const broken = {
  "no HTTP at all": ["hello, this is a mail server\r\n"],
  nothing: [""],
  "half a status line": ["HTTP/1.1 2"],
  "a status that is no number": ["HTTP/1.1 abc OK\r\n\r\n"],
  "a status out of range": ["HTTP/1.1 99999 OK\r\n\r\n"],
  "a version from the future": ["HTTP/9.9 200 OK\r\n\r\n"],
  "a header without a name": [`${OK}: x\r\n\r\n`],
  "a header with a NUL": [`${OK}X-A: a\0b\r\n\r\n`],
  "headers without end": [OK, "X-Filler: y\r\n".repeat(100_000)],
  "one header of 20 MB": [OK, `X-A: ${"y".repeat(20_000_000)}\r\n\r\n`],
  "two lengths": [`${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`],
  "a length that is no number": [`${OK}Content-Length: -5\r\n\r\n`],
  "a chunk size that is none": [`${OK}Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n`],
  "a chunk larger than memory": [`${OK}Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc`],
  "a body that is cut": [`${OK}${JSON_TYPE}Content-Length: 100\r\n\r\n[1`],
  "a compressed body that is none": [
    `${OK}${JSON_TYPE}Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc`,
  ],
  "a redirect to a place that is none": [
    "HTTP/1.1 302 Found\r\nLocation: http://\r\nContent-Length: 0\r\n\r\n",
  ],
  "a redirect to a file": ["HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n"],
  "JSON that never ends": [`${OK}${JSON_TYPE}\r\n`, "[".repeat(100_000)],
};

describe("a server that sends", () => {
  for (const [name, pieces] of Object.entries(broken)) {
    it(`a server that sends ${name} is an error for a call, and for a stream`, async () => {
      const baseUrl = await saying(...pieces);
      const call = single("get", {}, { baseUrl });
      const stream = single("get", { responses: answers("text/event-stream") }, { baseUrl });
      const errors = [await failureOf(call({}, {}))];
      // Bytes that no rule forbids in a stream are a stream without events.
      await stream({}, {})
        .next()
        .catch((error) => errors.push(error));
      for (const error of errors) {
        assert.ok(error instanceof CallError, String(error));
        assert.equal(error.code, "EXECUTION_ERROR");
        assert.ok(error.message.length < 1000, error.message);
      }
    });
  }

  it("a stream that is a compression bomb is an error, at the limit", async () => {
    const bomb = gzipSync(`data: ${"x".repeat(50_000_000)}\n\n`);
    const head = `${OK}Content-Type: text/event-stream\r\nContent-Encoding: gzip\r\n\r\n`;
    const baseUrl = await saying(head, bomb);
    const config = { baseUrl, sse: { maxEventBytes: 1_000_000 } };
    const stream = single("get", { responses: answers("text/event-stream") }, config)({}, {});
    assert.match((await failureOf(stream.next())).message, /limit of 1000000 bytes/);
  });

  it("endless brackets are an error, before JavaScript has to parse them", async () => {
    const body = "[".repeat(1_000_000) + "]".repeat(1_000_000);
    const head = `${OK}${JSON_TYPE}Content-Length: ${body.length}\r\n\r\n`;
    const error = await failureOf(single("get", {}, { baseUrl: await saying(head, body) })({}, {}));
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /nested more than 10000 levels deep/);

    const events = `${OK}Content-Type: text/event-stream\r\n\r\ndata: ${body}\n\n`;
    const config = { baseUrl: await saying(events) };
    const stream = single("get", { responses: answers("text/event-stream") }, config)({}, {});
    assert.equal((await stream.next()).value.data, body, "as a string, which costs nothing");
    await stream.return();
  });

  it("an error response that is a compression bomb is an error about its size", async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    const baseUrl = await saying(
      `HTTP/1.1 500 No\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\n\r\n`,
      bomb,
    );
    const error = await failureOf(single("get", {}, { baseUrl, maxResponseBytes: 1_000_000 })({}, {}));
    assert.match(error.message, /limit of 1000000 bytes/);
  });

  it("a response of one byte at a time is read like any other", async () => {
    const text = `${OK}${JSON_TYPE}Content-Length: 7\r\n\r\n{"a":1}`;
    const slowly = async (socket) => {
      for (const byte of text) {
        socket.write(byte);
        await new Promise(setImmediate);
      }
    };
    const { data } = await single("get", {}, { baseUrl: await saying(slowly) })({}, {});
    assert.deepEqual(data, { a: 1 });
  });

  it("a reason phrase of 50 KB makes a short message", async () => {
    const baseUrl = await saying(
      `HTTP/1.1 500 ${"very\tvery ".repeat(5_000)}bad\r\nContent-Length: 0\r\n\r\n`,
    );
    const error = await failureOf(single("get", {}, { baseUrl })({}, {}));
    assert.match(error.message, /^HTTP 500: very very /);
    assert.ok(error.message.length < 300, `${error.message.length} characters`);
  });
});
