// TLS, with an authority of our own.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { PendingRequestMap, unwrap } from "@alkdev/operations";
import { freePort, missingBroker, startRedis } from "../support/brokers.mjs";
import { missingOpenssl } from "../support/skips.mjs";
import { closeTargets, isServed, openTarget, serveOn } from "./support.mjs";

describe("over TLS", { skip: missingBroker("redis-server") || missingOpenssl() }, () => {
  let redis;
  let folder;
  let url;
  let ca;
  let identity;
  const file = (name) => join(folder, name);
  const pem = (name) => readFileSync(file(name), "utf8");

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "operations-tls-"));
    const openssl = (...args) => execFileSync("openssl", args, { cwd: folder, stdio: "pipe" });
    const key = (name) => ["-newkey", "rsa:2048", "-nodes", "-keyout", `${name}.key`];
    openssl("req", "-x509", ...key("ca"), "-out", "ca.crt", "-days", "2", "-subj", "/CN=tests");
    writeFileSync(file("names"), "subjectAltName=DNS:localhost,IP:127.0.0.1\n");
    for (const name of ["server", "client"]) {
      openssl("req", ...key(name), "-out", `${name}.csr`, "-subj", `/CN=${name}`);
      openssl(
        ...["x509", "-req", "-in", `${name}.csr`, "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"],
        ...["-out", `${name}.crt`, "-days", "2", "-extfile", "names"],
      );
    }
    const tlsPort = await freePort();
    redis = await startRedis({
      args: [
        ...["--tls-port", String(tlsPort), "--tls-cert-file", file("server.crt")],
        ...["--tls-key-file", file("server.key"), "--tls-ca-cert-file", file("ca.crt")],
      ],
    });
    url = `rediss://127.0.0.1:${tlsPort}`;
    ca = pem("ca.crt");
    identity = { cert: pem("client.crt"), key: pem("client.key") };
  });
  after(async () => {
    await closeTargets();
    await redis?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("Redis over TLS connects with certificates on both sides", async () => {
    const tls = { ca, ...identity };
    serveOn({ url, tls });
    const map = new PendingRequestMap(openTarget({ url, tls }));
    await isServed(map);
    assert.deepEqual(unwrap(await map.call("t.double", { n: 2 })), { n: 4 });
  });

  it("Redis over TLS reads certificates from files", async () => {
    const tls = { caFile: file("ca.crt"), certFile: file("client.crt"), keyFile: file("client.key") };
    const map = new PendingRequestMap(openTarget({ url, tls }));
    await isServed(map);
    assert.deepEqual(unwrap(await map.call("t.double", { n: 3 })), { n: 6 });
  });

  it("Redis over TLS refuses a server of an unknown authority", async () => {
    // Without `ca` the system's certificates are used, if there are any.
    for (const tls of [identity, { ca: identity.cert }]) {
      const map = new PendingRequestMap(openTarget({ url, tls }));
      await assert.rejects(map.call("t.x", {}), (error) => {
        assert.equal(error.code, "EXECUTION_ERROR");
        assert.match(error.message, /no TLS connection|CA certificates|certificate/);
        assert.doesNotMatch(error.message, /PRIVATE KEY/);
        return true;
      });
    }
  });

  it("Redis over TLS refuses texts that are no certificates", async () => {
    for (const [tls, message] of [
      [{ ca: "none" }, /tls\.ca holds no certificate/],
      [{ ca, cert: identity.cert, key: "s3cret" }, /tls\.key is no private key/],
    ]) {
      const map = new PendingRequestMap(openTarget({ url, tls }));
      await assert.rejects(map.call("t.x", {}), (error) => {
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /s3cret/);
        return true;
      });
    }
  });
});
