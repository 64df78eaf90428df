// A hub behind TLS, with a certificate of an authority that only these tests know.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { createServer } from "node:tls";
import { makeCertificates, makeOwnCertificate } from "../http/certificates.mjs";
import { deferred, eventually, failureOf, hubOf, operation, registryOf, spokeOf } from "./support.mjs";

const folder = mkdtempSync(join(tmpdir(), "operations-hub-tls-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const file = (name, text) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
const { ca, cert, key } = makeCertificates();
const caFile = file("ca.pem", ca);
const tls = { certFile: file("cert.pem", cert), keyFile: file("key.pem", key) };
const echo = operation({ namespace: "demo", name: "echo", handler: (input) => input });

/** The certificate is for the name, not for the address. */
async function secureHub(options = {}) {
  const hub = await hubOf([echo], { tls, allowedHosts: ["localhost"], ...options });
  const { port } = new URL(hub.url);
  return { ...hub, port, address: `wss://localhost:${port}/hub` };
}

describe("wss://", () => {
  it("wss:// connects with the authority in caFile, calls and serves", async () => {
    const { address, registry } = await secureHub({ hub: { accept: ({ name }) => ({ namespace: name }) } });
    const spoke = await spokeOf(address, { name: "far", caFile, token: "ada" });
    assert.deepEqual((await spoke.callMap.call("demo.echo", { n: 1 })).data, { n: 1 });
    const far = operation({ namespace: "any", name: "double", handler: ({ n }) => ({ n: n * 2 }) });
    assert.deepEqual(await spoke.serve(registryOf(far)), { operations: ["far.double"] });
    assert.deepEqual((await registry.execute("far.double", { n: 4 })).data, { n: 8 });
  });

  it("tls: { caFile } and tls: { ca } do the same as the old name caFile", async () => {
    const { address } = await secureHub();
    for (const tls of [{ caFile }, { ca }]) {
      const spoke = await spokeOf(address, { tls });
      assert.deepEqual((await spoke.callMap.call("demo.echo", {})).data, {});
    }
    const none = await failureOf(spokeOf(address, { tls: { ca: "none" } }));
    assert.match(none.message, /tls\.ca holds no certificate/);
    const both = await failureOf(spokeOf(address, { tls: { ca, caFile } }));
    assert.match(both.message, /tls\.caFile and ca exclude each other/);
  });

  it("an https:// address connects like wss://", async () => {
    const { address } = await secureHub();
    const spoke = await spokeOf(address.replace("wss", "https"), { caFile });
    assert.deepEqual((await spoke.callMap.call("demo.echo", {})).data, {});
  });

  it("a wss:// connection reconnects, and checks the certificate again", async () => {
    const first = await secureHub();
    const spoke = await spokeOf(first.address, { caFile, reconnect: { minDelay: 5, maxDelay: 20 } });
    const back = deferred();
    spoke.on("reconnected", () => back.resolve());
    await first.served.close({ drain: 0 });
    // With timers: a spoke without calls does not keep the process alive.
    await eventually(() => spoke.status().state === "disconnected");
    const call = spoke.callMap.call("demo.echo", { again: true });
    await hubOf([echo], { tls, allowedHosts: ["localhost"], port: Number(first.port) });
    await back.promise;
    assert.deepEqual((await call).data, { again: true });
  });

  it("a wss:// hub with a certificate of an unknown authority is refused", async () => {
    const { address, port } = await secureHub();
    const strangers = file("strangers.pem", makeCertificates().ca);
    for (const [url, options] of [
      [address, {}],
      [address, { caFile: strangers }],
      // Signed, but for another name.
      [`wss://127.0.0.1:${port}/hub`, { caFile }],
    ]) {
      const error = await failureOf(spokeOf(url, { token: "ada-secret", ...options }));
      assert.equal(error.code, "EXECUTION_ERROR");
      assert.equal(error.details.reason, "tls", error.message);
      assert.equal(error.details.delivery, "none");
      assert.match(error.message, /certificate is not accepted: .* tls\.caFile/);
      assert.doesNotMatch(JSON.stringify(error), /ada-secret/);
    }
  });

  it("an unusable caFile is an error that says why", async () => {
    const { address } = await secureHub();
    for (const name of [join(folder, "missing.pem"), file("broken.pem", "no certificate at all")]) {
      const error = await failureOf(spokeOf(address, { caFile: name }));
      assert.equal(error.code, "VALIDATION_ERROR");
      assert.match(error.message, /caFile \(.*\) (cannot be used|holds no certificate)/);
      assert.ok(error.message.includes(name), error.message);
    }
  });

  it("wss:// to a hub without TLS is an error that says so", async () => {
    const { address } = await hubOf([echo]);
    const error = await failureOf(spokeOf(address.replace("ws:", "wss:"), { caFile }));
    assert.equal(error.details.reason, "tls", error.message);
    assert.match(error.message, /does not speak TLS.* try ws:/);
  });

  it("ws:// to a hub with TLS is an error that suggests wss://", async () => {
    const { address } = await secureHub();
    const error = await failureOf(spokeOf(address.replace("wss:", "ws:")));
    assert.match(error.message, /try wss:/);
  });

  it("a truncated certificate is an error in plain words", async () => {
    const { cert, key } = makeOwnCertificate();
    const server = createServer({ cert, key }, (socket) => {
      socket.on("error", () => {});
      // The wire ends, and TLS does not say goodbye.
      socket.once("data", () => socket._parent?.destroy() ?? socket.destroy());
    });
    after(() => server.close());
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = `wss://localhost:${server.address().port}/hub`;
    const error = await failureOf(spokeOf(address, { caFile: file("cut.pem", cert) }));
    assert.equal(error.details.reason, "no-hub", error.message);
    assert.doesNotMatch(JSON.stringify([error.message, error.details]), /docs\.rs|close_notify/);
  });
});

describe("a certificate that has signed itself (openssl req -x509)", () => {
  const own = makeOwnCertificate();
  const mine = file("own.pem", own.cert);
  const selfSigned = { certFile: mine, keyFile: file("own.key", own.key) };

  it("a self-signed certificate is accepted if caFile names it", async () => {
    const { address } = await secureHub({ tls: selfSigned });
    const spoke = await spokeOf(address, { caFile: mine });
    assert.deepEqual((await spoke.callMap.call("demo.echo", { n: 1 })).data, { n: 1 });
  });

  it("a self-signed certificate is accepted only for its own name, in its time, and with its key", async () => {
    const { address, port } = await secureHub({ tls: selfSigned });
    const old = makeOwnCertificate({ expired: true });
    const oldFile = file("old.pem", old.cert);
    const expired = await secureHub({ tls: { certFile: oldFile, keyFile: file("old.key", old.key) } });
    const another = file("another.pem", makeOwnCertificate().cert);
    for (const [url, options, why] of [
      [address, {}, /caFile/],
      [address, { caFile: another }, /caFile/],
      [`wss://127.0.0.1:${port}/hub`, { caFile: mine }, /not for 127\.0\.0\.1.*localhost/],
      [expired.address, { caFile: oldFile }, /expired/],
    ]) {
      const error = await failureOf(spokeOf(url, options));
      assert.equal(error.details.reason, "tls", error.message);
      assert.match(error.message, why);
      assert.doesNotMatch(error.message, /OtherError|CaUsedAsEndEntity|Context/);
    }
  });
});
