// Workers of `node:cluster` that serve one port.

import assert from "node:assert/strict";
import cluster from "node:cluster";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { until } from "../support/waiting.mjs";

const OPERATION = `{
  name: "pid", namespace: "demo", version: "1.0.0", type: "query", description: "Which process answers",
  inputSchema: Type.Object({}), outputSchema: Type.Number(), accessControl: { requiredScopes: [] },
  handler: () => process.pid,
}`;

/** Starts workers one after the other, and returns the first message of each. */
async function workers(t, count, body) {
  // Beside the tests, where the package can be imported by its name.
  const folder = mkdtempSync(join(dirname(fileURLToPath(import.meta.url)), "cluster-"));
  const exec = join(folder, "worker.mjs");
  writeFileSync(
    exec,
    `import { createServer } from "node:http";
     import { createRegistry } from "@alkdev/operations";
     import { createHandler, serve, toNodeListener } from "@alkdev/operations/serve";
     import { Type } from "@sinclair/typebox";
     const registry = createRegistry([${OPERATION}]);
     const options = { doors: { http: true } };
     ${body}`,
  );
  cluster.setupPrimary({ exec, execArgv: [] });
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const messages = [];
  for (let i = 0; i < count; i++) {
    const worker = cluster.fork({ PORT: String(messages[0]?.port ?? 0) });
    t.after(() => worker.process.kill());
    const [message] = await Promise.race([
      once(worker, "message"),
      once(worker, "exit").then(() => ["it ended"]),
    ]);
    messages.push(message);
  }
  return messages;
}

describe("node:cluster", () => {
  it("workers share a port with createHandler and toNodeListener, and each answers", async (t) => {
    const messages = await workers(
      t,
      2,
      // Workers that listen on port 0 get the same one.
      `const server = createServer(toNodeListener(createHandler(registry, options)));
       server.listen(0, "127.0.0.1", () =>
         process.send({ port: server.address().port, pid: process.pid }));`,
    );
    const [{ port }] = messages;
    assert.deepEqual(
      messages.map((message) => message.port),
      [port, port],
    );
    const pids = new Set(messages.map(({ pid }) => pid));
    await until(async () => {
      const headers = { connection: "close" };
      const response = await fetch(`http://127.0.0.1:${port}/api/demo/pid`, { headers });
      assert.equal(response.status, 200);
      pids.delete(await response.json());
      return pids.size === 0;
    }, "each worker has answered");
  });

  it("serve on a port that another worker has says how to share it", async (t) => {
    const messages = await workers(
      t,
      2,
      `const served = await serve(registry, { ...options, port: Number(process.env.PORT) }).catch(
         ({ message, details }) => ({ message, details }));
       process.send(served.message === undefined ? { port: new URL(served.url).port } : served);`,
    );
    assert.match(messages[1].message, /toNodeListener\(createHandler\(registry, options\)\)/);
    assert.equal(messages[1].details.reason, "address-in-use");
  });
});
