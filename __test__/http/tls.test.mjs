// TLS with an authority of one's own, and HTTP/2 over it.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createSecureServer } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { makeCertificates } from "./certificates.mjs";
import { answers, failureOf, handlers, single, until } from "./support.mjs";

const { ca, cert, key } = makeCertificates();

/** A server that speaks both versions. */
async function secure(answer) {
  const server = createSecureServer({ cert, key, allowHTTP1: true }, answer);
  const sessions = new Set();
  server.on("session", (session) => sessions.add(session));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return { url: `https://localhost:${server.address().port}`, sessions };
}

const tell = (request, response) => {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ version: request.httpVersion, path: request.url }));
};

describe("https", () => {
  it("https uses HTTP/2 if the server supports it, many calls on one connection", async () => {
    const { url, sessions } = await secure(tell);
    const call = single("get", {}, { baseUrl: url, ca });
    assert.deepEqual((await call({}, {})).data, { version: "2.0", path: "/" });
    await Promise.all(Array.from({ length: 20 }, () => call({}, {})));
    assert.equal(sessions.size, 1);
  });

  it("https has a reason for every status, although HTTP/2 sends no phrase", async () => {
    const { url } = await secure((_, response) => {
      response.statusCode = 409;
      response.end();
    });
    const error = await failureOf(single("get", {}, { baseUrl: url, ca })({}, {}));
    assert.match(error.message, /^HTTP 409: Conflict, in t\./);
  });

  it("https refuses a certificate of an unknown authority, and says so", async () => {
    const { url } = await secure(tell);
    const error = await failureOf(single("get", {}, { baseUrl: url })({}, {}));
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /localhost:\d+ failed: TLS failed: .*certificate|https cannot be used/);
  });

  it("https refuses a certificate for another name", async () => {
    const { url } = await secure(tell);
    const baseUrl = url.replace("localhost", "127.0.0.1");
    const error = await failureOf(single("get", {}, { baseUrl, ca })({}, {}));
    assert.match(error.message, /TLS failed: .*certificate not valid for name/);
    assert.equal(error.details.cause, "ERR_TLS_CERTIFICATE");
  });

  it("tls: { ca } and tls: { caFile } do the same as the old name ca", async () => {
    const { url } = await secure(tell);
    const folder = mkdtempSync(join(tmpdir(), "operations-http-tls-"));
    const caFile = join(folder, "ca.pem");
    writeFileSync(caFile, ca);
    for (const options of [{ tls: { ca } }, { tls: { caFile } }]) {
      const { data } = await single("get", {}, { baseUrl: url, ...options })({}, {});
      assert.ok(data);
    }
    rmSync(folder, { recursive: true });
    assert.throws(() => single("get", {}, { baseUrl: url, tls: { caFile } }), {
      code: "VALIDATION_ERROR",
      message: /config\.tls\.caFile cannot be read: ENOENT/,
    });
  });

  it("a ca that is no certificate is refused at once", () => {
    assert.throws(() => single("get", {}, { baseUrl: "https://localhost", ca: "nonsense" }), {
      code: "VALIDATION_ERROR",
      message: /ca\[0\] holds no certificate/,
    });
  });

  it("https carries streams, and closes them one by one", async () => {
    let closed = 0;
    const { url } = await secure((_, response) => {
      response.setHeader("content-type", "text/event-stream");
      response.write("data: 1\n\n");
      response.stream.on("close", () => closed++);
    });
    const paths = { "/": { get: { operationId: "it", responses: answers("text/event-stream") } } };
    const { it: stream } = handlers(paths, { baseUrl: url, ca });
    for await (const { data } of stream({}, {})) {
      assert.equal(data, 1);
      break;
    }
    await until(() => closed === 1);
  });
});
