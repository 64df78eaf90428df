// A server with a certificate.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { Agent, get } from "node:https";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { Type } from "@sinclair/typebox";
import { makeCertificates } from "../http/certificates.mjs";
import { operation, serving } from "./support.mjs";

const greet = operation({
  namespace: "demo",
  name: "greet",
  inputSchema: Type.Object({ name: Type.String() }),
  handler: ({ name }) => `Hello ${name}`,
});

const folder = mkdtempSync(join(tmpdir(), "operations-tls-"));
after(() => rmSync(folder, { recursive: true }));
const { ca, cert, key } = makeCertificates();
const file = (name, text) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
const certFile = file("cert.pem", cert);
const keyFile = file("key.pem", key);
const otherKeyFile = file("other.pem", makeCertificates().key);

/** The certificate is for a name. */
const named = (url) => url.replace("127.0.0.1", "localhost");

describe("tls", () => {
  it("a server with tls serves HTTPS", async () => {
    const { url } = await serving([greet], { tls: { certFile, keyFile } });
    assert.match(url, /^https:/);
    const agent = new Agent({ ca });
    const text = await new Promise((resolve, reject) => {
      get(`${named(url)}/api/demo/greet?name=Ada`, { agent }, async (response) => {
        resolve(Buffer.concat(await response.toArray()).toString());
      }).on("error", reject);
    });
    agent.destroy();
    assert.equal(text, '"Hello Ada"');
  });

  it("a server with tls speaks HTTP/2 with clients that support it", async () => {
    const { url, close } = await serving([greet], { tls: { certFile, keyFile } });
    const session = connectHttp2(named(url), { ca });
    const texts = await Promise.all(
      ["Ada", "Bob"].map(async (name) => {
        const request = session.request({ ":path": `/api/demo/greet?name=${name}` });
        return Buffer.concat(await request.toArray()).toString();
      }),
    );
    assert.deepEqual(texts, ['"Hello Ada"', '"Hello Bob"']);
    await close();
    session.close();
  });

  it("identify gets the same URL with each version of HTTP", async () => {
    const urls = [];
    const identify = ({ url }) => {
      urls.push(url);
      return { id: "ada", scopes: [] };
    };
    const { url } = await serving([greet], { tls: { certFile, keyFile }, identify });
    const session = connectHttp2(named(url), { ca });
    await session.request({ ":path": "/api/demo/greet?name=Ada" }).toArray();
    session.close();
    const agent = new Agent({ ca });
    await new Promise((resolve, reject) => {
      get(`${named(url)}/api/demo/greet?name=Ada`, { agent }, (response) =>
        response.resume().on("end", resolve),
      ).on("error", reject);
    });
    agent.destroy();
    assert.deepEqual(urls, ["/api/demo/greet?name=Ada", "/api/demo/greet?name=Ada"]);
  });

  it("a server with tls disconnects clients that speak plain HTTP or send nothing", async () => {
    const { url, stats } = await serving([greet], { tls: { certFile, keyFile }, requestTimeout: 50 });
    const { port } = new URL(url);
    for (const text of ["GET / HTTP/1.1\r\n\r\n", ""]) {
      const socket = connect(Number(port), "127.0.0.1", () => socket.write(text));
      socket.resume().on("error", () => {});
      await new Promise((resolve) => socket.on("close", resolve));
    }
    while (stats().connections > 0) await new Promise(setImmediate);
  });

  it("a server says what is wrong with its tls files", async () => {
    for (const [tls, message] of [
      [{ certFile: "/nowhere", keyFile }, /tls\.certFile cannot be used \(\/nowhere\)/],
      [{ certFile: keyFile, keyFile }, /tls\.certFile cannot be used .*no certificate/],
      [{ certFile, keyFile: certFile }, /tls\.keyFile cannot be used/],
      [{ certFile, keyFile: otherKeyFile }, /tls\.certFile and tls\.keyFile cannot be used/],
    ]) {
      await assert.rejects(serving([greet], { tls }), (error) => {
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /PRIVATE KEY/);
        return error.code === "EXECUTION_ERROR" && error.details.reason === "tls";
      });
    }
  });
});
