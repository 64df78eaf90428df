// A client that reads nothing loses its connection; one that reads slowly does not.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { makeCertificates } from "../http/certificates.mjs";
import { until } from "../support/waiting.mjs";
import { operation, serving, subscription, unread } from "./support.mjs";

const MB = 1024 * 1024;
const WRITE_TIMEOUT = 400;
// So long that a busy machine does not pass for a client that reads nothing.
const SLOW_TIMEOUT = 2_000;

const large = operation({ name: "large", handler: () => "x".repeat(24 * MB) });

describe("a client that reads nothing", () => {
  it("a client that reads nothing loses its connection, and its stream is aborted", async () => {
    let ended = 0;
    const flood = subscription({
      name: "flood",
      handler: async function* () {
        try {
          for (;;) yield "x".repeat(MB / 4);
        } finally {
          ended += 1;
        }
      },
    });
    const { url, stats } = await serving([flood], { writeTimeout: WRITE_TIMEOUT });
    unread(url, "/api/test/flood");
    await until(() => ended > 0 && stats().connections === 0, "the connection is closed");
    assert.equal(ended, 1);
  });

  it("a client that stops reading loses its connection in the middle of a response", async () => {
    const { url, stats } = await serving([large], { writeTimeout: WRITE_TIMEOUT });
    unread(url, "/api/test/large");
    await until(() => stats().requests > 0 && stats().connections === 0, "the connection is closed");
  });

  it("a client that reads nothing is noticed over HTTP/2 too, where only its window is closed", async () => {
    const folder = mkdtempSync(join(tmpdir(), "operations-test-write-timeout-"));
    after(() => rmSync(folder, { recursive: true }));
    const { ca, cert, key } = makeCertificates();
    const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    writeFileSync(certFile, cert);
    writeFileSync(keyFile, key);
    const { url, stats } = await serving([large], {
      writeTimeout: WRITE_TIMEOUT,
      tls: { certFile, keyFile },
    });
    const session = connectHttp2(url.replace("127.0.0.1", "localhost"), { ca });
    session.on("error", () => {});
    const stream = session.request({
      ...{ ":method": "POST", ":path": "/api/test/large", "content-type": "application/json" },
    });
    stream.on("error", () => {});
    stream.pause();
    stream.end("{}");
    // The connection itself stays alive: pings are answered all the time.
    const pinging = setInterval(() => session.destroyed || session.ping(() => {}), 50);
    await until(() => stats().requests > 0 && stats().connections === 0, "the connection is closed");
    clearInterval(pinging);
    session.destroy();
  });
});

describe("a client that reads slowly", () => {
  it("a client that reads slowly gets all of its response, however long it takes", async () => {
    const { url } = await serving([large], { writeTimeout: SLOW_TIMEOUT });
    const socket = unread(url, "/api/test/large", { headers: "connection: close\r\n" });
    let read = 0;
    let isOver = false;
    socket.on("data", (data) => {
      read += data.length;
      socket.pause();
    });
    socket.on("close", () => {
      isOver = true;
    });
    const began = Date.now();
    while (!isOver) {
      // A fifth of the time that it may read nothing, until much more than that has passed.
      const isSlow = Date.now() - began < 3 * SLOW_TIMEOUT;
      if (isSlow) await wait(SLOW_TIMEOUT / 5);
      // As much as the buffers of the system hold, so that there is room for more.
      for (let i = 0; i < 64 && !isOver; i++) {
        socket.resume();
        await wait(0);
      }
    }
    assert.ok(read > 24 * MB, `${read} bytes`);
  });

  it("a client that reads slowly, and one whose stream is silent, keep their connections", async () => {
    const quiet = subscription({
      name: "quiet",
      handler: async function* () {
        yield 1;
        await wait(4 * WRITE_TIMEOUT);
        yield 2;
      },
    });
    const { post } = await serving([quiet], { writeTimeout: WRITE_TIMEOUT });
    const text = await (await post("test/quiet", {})).text();
    assert.match(text, /data: 1\n[\s\S]*data: 2\n/);
  });
});
