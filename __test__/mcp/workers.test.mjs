// Worker threads: each has clients of its own.

import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import { runModule } from "../support/run-node.mjs";
import { defer } from "./support/defer.mjs";
import { isAlive, startsFile, untilDead } from "./support/processes.mjs";
import { connected, stdio } from "./support/servers.mjs";

function startWorker(test, config) {
  const worker = new Worker(new URL("./support/worker.mjs", import.meta.url), { workerData: config });
  defer(test, () => worker.terminate());
  return worker;
}

async function ready(worker) {
  assert.equal((await once(worker, "message"))[0], "ready");
  return worker;
}

describe("worker threads", { concurrency: true }, () => {
  it("four worker threads and the main thread each talk to their own server", async (t) => {
    const starts = startsFile(t);
    const config = stdio([], { env: { STARTS_FILE: starts.path } });
    const { call } = await connected(t, config);
    const workers = await Promise.all(
      Array.from({ length: 4 }, () => startWorker(t, config)).map((worker) => ready(worker)),
    );
    const answers = workers.map(async (worker, index) => {
      worker.postMessage(`thread ${index}`);
      return (await once(worker, "message"))[0];
    });
    assert.deepEqual(await Promise.all(answers), ["thread 0", "thread 1", "thread 2", "thread 3"]);
    assert.equal((await call("echo", { text: "main" })).data[0].text, "main");
    assert.equal(starts.pids("server").length, 5);
    for (const worker of workers) {
      worker.postMessage("close");
      assert.deepEqual(await once(worker, "exit"), [0]);
    }
    assert.equal(starts.pids("server").filter(isAlive).length, 1);
    assert.equal((await call("echo", { text: "main" })).data[0].text, "main");
  });

  it("a worker that is terminated takes its server, child and grandchild with it, and no other's", async (t) => {
    const starts = startsFile(t);
    const { call } = await connected(t, stdio());
    const worker = startWorker(t, stdio(["family", "stubborn"], { env: { STARTS_FILE: starts.path } }));
    await ready(worker);
    const pids = await starts.family();
    await worker.terminate();
    await untilDead(pids);
    assert.equal((await call("echo", { text: "still here" })).data[0].text, "still here");
  });

  it("a worker that is terminated leaves no zombie, in a program that uses the package only there", async (t) => {
    const starts = startsFile(t);
    const config = stdio([], { env: { STARTS_FILE: starts.path } });
    const { code, stderr } = await runModule(`
      import { once } from "node:events";
      import { readFileSync } from "node:fs";
      import { Worker } from "node:worker_threads";
      import { untilReaped } from ${JSON.stringify(new URL("./support/processes.mjs", import.meta.url).href)};
      const worker = new Worker(new URL(${JSON.stringify(new URL("./support/worker.mjs", import.meta.url).href)}),
        { workerData: ${JSON.stringify(config)}, execArgv: [] });
      await once(worker, "message");
      await worker.terminate();
      await untilReaped(Number(readFileSync(${JSON.stringify(starts.path)}, "utf8").split(/[ \\n]/)[1]));
    `);
    assert.equal(code, 0, stderr);
  });

  it("a worker that is terminated while its server starts leaves no process", async (t) => {
    const starts = startsFile(t);
    const worker = startWorker(t, stdio(["family", "silent"], { env: { STARTS_FILE: starts.path } }));
    const pids = await starts.family();
    await worker.terminate();
    await untilDead(pids);
  });
});
