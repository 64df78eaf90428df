// Processes of their own: one serves, one calls; and when each of them may end.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { PendingRequestMap, unwrap } from "@alkdev/operations";
import { missingBroker, startRedis } from "../support/brokers.mjs";
import { runModule, runNode } from "../support/run-node.mjs";
import { closeTargets, isServed, openTarget } from "./support.mjs";

const folder = new URL("./", import.meta.url);

describe("processes on one Redis", { skip: missingBroker("redis-server") }, () => {
  let redis;
  before(async () => {
    redis = await startRedis();
  });
  after(async () => {
    await closeTargets();
    await redis.stop();
  });

  it("a server over Redis stays up and responds, until it is stopped", async () => {
    const source = `
      import { serveOn } from "./support.mjs";
      serveOn({ url: ${JSON.stringify(redis.url)} });
    `;
    const server = spawn(process.execPath, ["--input-type=module", "--eval", source], {
      cwd: fileURLToPath(folder),
      stdio: ["ignore", "inherit", "inherit"],
    });
    const ended = once(server, "exit");
    const target = openTarget({ url: redis.url });
    try {
      const map = new PendingRequestMap(target);
      await isServed(map);
      assert.deepEqual(unwrap(await map.call("t.double", { n: 2 })), { n: 4 });
      // A caller in a third process ends by itself after its last answer, without closing anything.
      const { code, stdout, stderr } = await runModule(
        `
        import { PendingRequestMap, unwrap } from "@alkdev/operations";
        import { createRedisEventTarget } from "@alkdev/operations/transport-redis";
        const map = new PendingRequestMap(createRedisEventTarget({ url: ${JSON.stringify(redis.url)} }));
        console.log(JSON.stringify(unwrap(await map.call("t.double", { n: 4 }))));
        for await (const envelope of map.subscribe("t.tick", {})) if (unwrap(envelope) === 2) break;
      `,
        { cwd: folder },
      );
      assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: '{"n":8}\n', stderr: "" });
      assert.equal(server.exitCode, null);
    } finally {
      server.kill("SIGTERM");
      await ended;
      await target.close();
    }
  });

  it("a process that only made a Redis target, or only published, ends", async () => {
    const { code, stderr } = await runModule(
      `
      import { createRedisEventTarget } from "@alkdev/operations/transport-redis";
      const url = ${JSON.stringify(redis.url)};
      createRedisEventTarget({ url });
      createRedisEventTarget({ url }).dispatchEvent(new CustomEvent("note", { detail: 1 }));
    `,
      { cwd: folder },
    );
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  });

  it("a worker thread that is terminated in mid-call over Redis harms no other", async () => {
    const { code, stdout, stderr } = await runModule(
      `
      import { Worker } from "node:worker_threads";
      const worker = new Worker(\`
        import { parentPort } from "node:worker_threads";
        import { isServed, serveOn } from "./support.mjs";
        const { callMap } = serveOn({ url: ${JSON.stringify(redis.url)}, prefix: "worker:" });
        await isServed(callMap);
        for (let i = 0; i < 100; i++) callMap.call("t.never", {}).catch(() => {});
        parentPort.postMessage("busy");
      \`, { eval: true });
      await new Promise((resolve) => worker.once("message", resolve));
      await worker.terminate();
      console.log("alive");
    `,
      { cwd: folder },
    );
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: "alive\n", stderr: "" });
  });

  it("a Redis target that is no longer referenced is collected, and its connections end", async () => {
    const { code, stdout, stderr } = await runNode(
      [
        "--expose-gc",
        "--input-type=module",
        "--eval",
        `
        import { Redis } from "ioredis";
        import { createRedisEventTarget } from "@alkdev/operations/transport-redis";
        const url = ${JSON.stringify(redis.url)};
        const client = new Redis(url);
        const before = new Set((await client.client("LIST")).match(/^id=\\d+/gm));
        const mine = async () =>
          (await client.client("LIST")).match(/^id=\\d+/gm).filter((id) => !before.has(id)).length;
        let target = createRedisEventTarget({ url, prefix: "collected:" });
        // One connection listens, one has sent something.
        const listener = () => {};
        target.addEventListener("note", listener);
        target.dispatchEvent(new CustomEvent("note"));
        while ((await mine()) < 2);
        // Who listens holds it.
        const held = new WeakRef(target);
        target = undefined;
        for (let i = 0; i < 5; i++) {
          await new Promise((resolve) => setTimeout(resolve, 5));
          gc();
        }
        console.log(held.deref() !== undefined);
        held.deref().removeEventListener("note", listener);
        for (;;) {
          await new Promise((resolve) => setTimeout(resolve, 5));
          gc();
          if (held.deref() === undefined && (await mine()) === 0) break;
        }
        console.log("collected");
        client.disconnect();
      `,
      ],
      { cwd: folder },
    );
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: "true\ncollected\n", stderr: "" });
  });
});
