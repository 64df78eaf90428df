// What clients send that mean no good, or do not know better.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { connect } from "node:net";
import { describe, it } from "node:test";
import { Type } from "@sinclair/typebox";
import { deferred, operation, raw, serving, subscription } from "./support.mjs";

/** An operation that counts its calls, and one that must not be called. */
function counting() {
  const calls = { open: 0, smuggled: 0 };
  const open = operation({ name: "open", handler: () => ++calls.open });
  const smuggled = operation({ name: "smuggled", handler: () => ++calls.smuggled });
  return { calls, operations: [open, smuggled] };
}

const SMUGGLED = "POST /api/test/smuggled HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n";

describe("requests that mean two things", () => {
  for (const [what, headers, body] of [
    ["a length and pieces", "content-length: 5\r\ntransfer-encoding: chunked", `0\r\n\r\n${SMUGGLED}`],
    ["pieces and a length", "transfer-encoding: chunked\r\ncontent-length: 5", `0\r\n\r\n${SMUGGLED}`],
    ["two lengths", "content-length: 0\r\ncontent-length: 90", SMUGGLED],
    ["a list of lengths", "content-length: 0, 90", SMUGGLED],
    ["a length with a sign", "content-length: +0", SMUGGLED],
    ["a negative length", "content-length: -1", SMUGGLED],
    ["a length in hexadecimal", "content-length: 0x0", SMUGGLED],
    ["a length that is too long", `content-length: ${"9".repeat(30)}`, SMUGGLED],
    ["an unknown coding", "transfer-encoding: xchunked", `0\r\n\r\n${SMUGGLED}`],
    ["a coding that is not last", "transfer-encoding: chunked, identity", `0\r\n\r\n${SMUGGLED}`],
    ["a space before the colon", "transfer-encoding : chunked", `0\r\n\r\n${SMUGGLED}`],
    ["a folded header", "x-a: b\r\n content-length: 5", SMUGGLED],
    ["a header without a colon", "nonsense", SMUGGLED],
    ["a control character in a header", "x-a: b\0c", SMUGGLED],
    ["a bad size of a piece", "transfer-encoding: chunked", `zz\r\n\r\n${SMUGGLED}`],
    ["an enormous piece", "transfer-encoding: chunked", `ffffffffffffffff\r\n${SMUGGLED}`],
  ]) {
    it(`no request is smuggled in with ${what}`, async () => {
      const { calls, operations } = counting();
      const { url, stats } = await serving(operations, { requestTimeout: 200 });
      const request = `POST /api/test/open HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${headers}\r\n\r\n${body}`;
      const said = await raw(url, request);
      // Either it is refused as a whole, or what follows is a request of its own that everybody sees as one.
      const statuses = [...said.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => status);
      assert.equal(calls.smuggled, statuses.filter((status) => status === "200").length - calls.open, said);
      if (what !== "a folded header") assert.equal(calls.smuggled, 0, said);
      while (stats().connections > 0) await new Promise(setImmediate);
    });
  }
});

describe("requests that are too much", () => {
  it("requests with too many headers, or too long ones, are refused", async () => {
    const { calls, operations } = counting();
    const { url } = await serving(operations);
    const many = Array.from({ length: 5_000 }, (_, n) => `x-${n}: y`).join("\r\n");
    const long = `x-long: ${"y".repeat(1_000_000)}`;
    for (const headers of [many, long]) {
      const said = await raw(url, `POST /api/test/open HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n\r\n`);
      assert.match(said, /^(HTTP\/1\.1 4|$)/);
    }
    const path = "/x".repeat(100_000);
    assert.match(await raw(url, `POST ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`), /^(HTTP\/1\.1 4|$)/);
    assert.equal(calls.open, 0);
  });

  it("bodies that are announced, or turn out, to be too large reach no operation", async () => {
    const { operations, calls } = counting();
    const { url, stats } = await serving(operations, { maxBodyBytes: 1_000_000 });
    const head = "POST /api/test/open HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    const announced = await raw(url, `${head}connection: close\r\ncontent-length: 99999999999\r\n\r\n`);
    assert.match(announced, /^HTTP\/1\.1 413 /);
    const piece = `fffff\r\n${"x".repeat(0xfffff)}\r\n`;
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => raw(url, `${head}transfer-encoding: chunked\r\n\r\n${piece}${piece}`)),
    );
    while (stats().connections > 0) await new Promise(setImmediate);
    // Some are cut off before they have read their answer.
    for (const answer of answers) assert.match(answer, /^(HTTP\/1\.1 413 |$)/);
    assert.equal(calls.open, 0);
  });

  for (const [what, body] of [
    ["not JSON", "{"],
    ["not UTF-8", Buffer.from([0x22, 0xff, 0x22])],
    ["too deep", "[".repeat(500_000)],
    ["two values", "1 2"],
    ["nothing but space", "   "],
    ["a byte order mark", "\ufeff{}"],
  ]) {
    it(`a body that is ${what} is refused, and the connection stays usable`, async () => {
      const { calls, operations } = counting();
      const { url } = await serving(operations);
      const response = await fetch(`${url}/api/test/open`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      });
      assert.equal(response.status, 400);
      const problem = await response.json();
      assert.equal(problem.code, "VALIDATION_ERROR");
      assert.equal(problem.mayHaveRun, false);
      assert.equal(calls.open, 0);
    });
  }

  it("bodies of another media type are refused", async () => {
    const { calls, operations } = counting();
    const { url } = await serving(operations);
    for (const [type, status] of [
      ["text/plain", 415],
      ["application/x-www-form-urlencoded", 415],
      ["multipart/form-data", 415],
      ["multipart/form-data; boundary=x", 400], // A form, but not in this body.
    ]) {
      const response = await fetch(`${url}/api/test/open`, {
        method: "POST",
        headers: { "content-type": type },
        body: "{}",
      });
      assert.equal(response.status, status, type);
    }
    assert.equal(calls.open, 0);
  });

  it("paths and queries of any kind get a response", async () => {
    const find = operation({ name: "find", inputSchema: Type.Object({ a: Type.Optional(Type.String()) }) });
    const { url } = await serving([find]);
    for (const target of [
      "/api/test/find?__proto__=1&constructor=2&a=%00",
      "/api/test/find?&&&=&==",
      `/api/test/find?${"a&".repeat(10_000)}`,
      "/api/%2e%2e/test/find",
      "/api//test/find",
      "/api/test/find/",
      "/api/test%2Ffind",
      "/api/../../etc/passwd",
      "*",
      "/api/test/find?a=%",
      "/api/test/find?a=%zz",
    ]) {
      const said = await raw(url, `GET ${target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
      assert.match(said, /^HTTP\/1\.1 (200|400|404|405) /, target);
    }
  });
});

describe("clients that take their time", () => {
  it("clients that send headers or bodies byte by byte are disconnected", async () => {
    const { calls, operations } = counting();
    const { url, stats } = await serving(operations, { requestTimeout: 100 });
    const { port } = new URL(url);
    const head =
      "POST /api/test/open HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n";
    const closed = [];
    for (let n = 0; n < 100; n++) {
      const text = n % 2 === 0 ? `${head}x-a: ` : `${head}\r\n`;
      const socket = connect(Number(port), "127.0.0.1", () => socket.write(text));
      socket.on("error", () => {}).resume();
      const drip = setInterval(() => socket.write("1"), 10);
      closed.push(
        new Promise((resolve) =>
          socket.on("close", () => {
            clearInterval(drip);
            resolve();
          }),
        ),
      );
    }
    await Promise.all(closed);
    while (stats().connections > 0) await new Promise(setImmediate);
    assert.equal(calls.open, 0);
  });

  it("a client that vanishes in the middle of a stream leaves nothing behind", async () => {
    const COUNT = 100;
    let [begun, ended] = [0, 0];
    const [allBegun, allEnded] = [deferred(), deferred()];
    const endless = subscription({
      name: "endless",
      handler: async function* (_, { signal }) {
        try {
          if (++begun === COUNT) allBegun.resolve();
          yield "x".repeat(1000);
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
        } finally {
          if (++ended === COUNT) allEnded.resolve();
        }
      },
    });
    const { url, stats } = await serving([endless]);
    const { port } = new URL(url);
    const request = "POST /api/test/endless HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n";
    const sockets = Array.from({ length: COUNT }, () => {
      const socket = connect(Number(port), "127.0.0.1", () => socket.write(request));
      return socket.on("error", () => {}).resume();
    });
    await allBegun.promise;
    for (const [n, socket] of sockets.entries()) {
      if (n % 2 === 0) socket.destroy();
      else socket.resetAndDestroy();
    }
    await allEnded.promise;
    while (stats().connections > 0 || stats().running > 0) await new Promise(setImmediate);
  });
});

describe("many connections", () => {
  it("many connections at once are served, as far as there are file descriptors", async () => {
    const limit =
      process.platform === "win32" ? 2_000 : Number(execFileSync("sh", ["-c", "ulimit -n"])) || 1_000_000;
    // Both ends are in this process.
    const count = Math.min(10_000, Math.floor((limit - 200) / 2));
    const { operations, calls } = counting();
    const { url, stats } = await serving(operations, { requestTimeout: 600_000 });
    const { port } = new URL(url);
    const sockets = [];
    for (let n = 0; n < count; n += 100) {
      const batch = Array.from({ length: Math.min(100, count - n) }, () =>
        connect(Number(port), "127.0.0.1"),
      );
      await Promise.all(batch.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
      for (const socket of batch) sockets.push(socket.on("error", () => {}));
    }
    while (stats().connections < count) await new Promise(setImmediate);
    // Somebody who comes with a request is served all the same.
    const last = sockets.at(-1);
    const answered = new Promise((resolve) => last.once("data", (data) => resolve(String(data))));
    last.write("POST /api/test/open HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n");
    assert.match(await answered, /^HTTP\/1\.1 200 /);
    assert.equal(calls.open, 1);
    for (const socket of sockets) socket.destroy();
    while (stats().connections > 0) await new Promise(setImmediate);
  });
});
