// Credentials by key, TLS, and connections in worker threads.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import { unwrap } from "@alkdev/operations";
import { connectNats } from "@alkdev/operations/transport-nats";
import { nkeys } from "nats";
import { startNats } from "../support/brokers.mjs";
import { missingOpenssl } from "../support/skips.mjs";
import { skip, until, useNats } from "./support.mjs";

const folder = mkdtempSync(join(tmpdir(), "operations-nats-secure-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const file = (name, text) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

describe("an NKey", { skip, timeout: 60_000 }, () => {
  it("the right NKey connects, a wrong one does not, and no error shows a key", async () => {
    const [user, stranger] = [nkeys.createUser(), nkeys.createUser()];
    const seedOf = (pair) => new TextDecoder().decode(pair.getSeed());
    const config = file(
      "nkey.conf",
      `authorization { users = [ { nkey: ${JSON.stringify(user.getPublicKey())} } ] }\n`,
    );
    const broker = await startNats({ args: ["--config", config] });
    try {
      const connection = await connectNats({
        servers: broker.url,
        name: "n",
        auth: { nkey: seedOf(user) },
      });
      await assert.rejects(connection.callMap.call("t.x", 1), { code: "OPERATION_NOT_FOUND" });
      await connection.close();
      for (const nkey of [seedOf(stranger), "SUNOSEED"]) {
        await assert.rejects(connectNats({ servers: broker.url, name: "n", auth: { nkey } }), (error) => {
          assert.equal(error.code, "ACCESS_DENIED");
          assert.ok(!(JSON.stringify(error) + error.stack).includes(nkey));
          return true;
        });
      }
    } finally {
      await broker.stop();
    }
  });
});

describe("TLS", { skip: skip || missingOpenssl(), timeout: 60_000 }, () => {
  it("TLS connects with a certificate authority of one's own, and not without it", async () => {
    const openssl = (...args) => {
      const { status, stderr } = spawnSync("openssl", args, { cwd: folder, encoding: "utf8" });
      assert.equal(status, 0, stderr);
    };
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"];
    openssl("req", "-x509", ...key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=test authority");
    openssl("req", ...key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=localhost");
    const names = file("names", "subjectAltName=IP:127.0.0.1,DNS:localhost\n");
    openssl(
      ...["x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"],
      ...["-days", "1", "-extfile", names, "-out", "server.pem"],
    );
    const broker = await startNats({
      args: ["--tls", "--tlscert", join(folder, "server.pem"), "--tlskey", join(folder, "server.key")],
    });
    try {
      const servers = `tls://127.0.0.1:${broker.port}`;
      const connection = await connectNats({
        servers,
        name: "n",
        tls: { caFile: join(folder, "ca.pem") },
      });
      await assert.rejects(connection.callMap.call("t.x", 1), { code: "OPERATION_NOT_FOUND" });
      await connection.close();
      await assert.rejects(connectNats({ servers, name: "n" }), {
        code: "EXECUTION_ERROR",
        message: /Cannot connect to NATS/,
      });
    } finally {
      await broker.stop();
    }
  });
});

describe("worker threads", { skip, timeout: 60_000 }, () => {
  const nats = useNats();

  it("worker threads have NATS connections of their own, which end with them", async () => {
    const threads = await Promise.all(
      ["one", "two"].map(async (name) => {
        const thread = new Worker(new URL("./thread.mjs", import.meta.url), {
          workerData: { name, servers: nats.broker.url },
        });
        await new Promise((resolve, reject) => {
          thread.once("message", resolve);
          thread.once("error", reject);
        });
        return thread;
      }),
    );
    const connection = await nats.connect();
    const seen = new Set();
    await until(async () => {
      seen.add(unwrap(await connection.callMap.call("t.where", {})));
      return seen.size === 2;
    });
    await threads[0].terminate();
    await until(async () => (await connection.discover()).workers.length === 1);
    assert.equal(unwrap(await connection.callMap.call("t.where", {})), "two");
    await threads[1].terminate();
    await until(async () => (await connection.discover()).workers.length === 0);
    await assert.rejects(connection.callMap.call("t.where", {}), { code: "OPERATION_NOT_FOUND" });
  });
});
