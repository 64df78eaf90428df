import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { OperationRegistry } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";

const ADA = { id: "ada", scopes: [] };

function newRegistry(approvals, handler) {
  const registry = new OperationRegistry({ approvals });
  registry.register({
    namespace: "t",
    name: "run",
    version: "1.0.0",
    type: "mutation",
    description: "Counts",
    inputSchema: Type.Unknown(),
    outputSchema: Type.Unknown(),
    accessControl: { requiredScopes: [] },
    approval: "always",
    handler,
  });
  return registry;
}

/** Small and repeatable. */
function randomOf(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % below;
  };
}

const settled = (promises) =>
  Promise.allSettled(promises).then((all) => all.filter(({ status }) => status === "fulfilled"));

test("10,000 random histories of decisions, uses and expiry in memory: a call runs once if it was approved first, or never", async (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: 1_800_000_000_000 });
  const random = randomOf(37);
  const runs = new Map();
  const registry = newRegistry({ expires: 1000 }, (input) => runs.set(input, (runs.get(input) ?? 0) + 1));
  let approvedAndRun = 0;
  for (let nr = 0; nr < 10_000; nr++) {
    const { id } = await registry
      .execute("t.run", nr, { identity: ADA })
      .catch(({ details }) => details.approval);
    const use = () => registry.execute("t.run", nr, { identity: ADA, approval: id });
    const decisions = [];
    const uses = [];
    for (let step = 0; step < 6; step++) {
      const what = random(6);
      if (what < 2) decisions.push(registry.approvals.decide(id, { approve: what === 0 }));
      else if (what < 4) uses.push(use());
      else if (what === 4) await new Promise((resolve) => queueMicrotask(resolve));
      else if (random(4) === 0) t.mock.timers.setTime(Date.now() + 600);
    }
    assert.ok((await settled(decisions)).length <= 1, `history ${nr}: decided twice`);
    const answered = await settled(uses);
    assert.ok(answered.length <= 1, `history ${nr}: used twice`);
    assert.equal(runs.get(nr) ?? 0, answered.length, `history ${nr}`);
    const { status } = await registry.approvals.get(id);
    if (answered.length === 1) {
      assert.equal(status, "used");
      approvedAndRun += 1;
    }
    await use().catch(() => {});
    const total = runs.get(nr) ?? 0;
    assert.equal(total, status === "used" || status === "approved" ? 1 : 0, `history ${nr} ended ${status}`);
    runs.delete(nr);
    // What waits is over: the store does not fill.
    t.mock.timers.setTime(Date.now() + 4_000_000);
  }
  assert.ok(approvedAndRun > 500, `only ${approvedAndRun} ran`);
});

const WORKER = fileURLToPath(new URL("./support/folder-worker.mjs", import.meta.url));

/** Ends with the signal or code that the process ended with. */
function start(args) {
  const child = spawn(process.execPath, [WORKER, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  const ready = new Promise((resolve) => child.stdout.once("data", resolve));
  const ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve(signal ?? code)));
  return { go: () => child.stdin.end("go"), ready, ended };
}

test("three processes that use 200 approvals of one folder at the same time: each call runs once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "approvals-"));
  const log = join(folder, "log.txt");
  writeFileSync(log, "");
  try {
    const registry = newRegistry({ store: { folder: join(folder, "store") } }, () => "unused");
    const ids = [];
    for (let nr = 0; nr < 200; nr++) {
      const { id } = await registry
        .execute("t.run", nr, { identity: ADA })
        .catch(({ details }) => details.approval);
      ids.push(id);
      const both = [true, nr % 4 !== 0].map((approve) => registry.approvals.decide(id, { approve }));
      assert.equal((await settled(both)).length, 1);
    }
    const approved = (await registry.approvals.list({ status: "approved" })).map(({ input }) => input);
    const workers = [0, 1, 2].map(() => start([join(folder, "store"), log, JSON.stringify(ids)]));
    await Promise.all(workers.map(({ ready }) => ready));
    for (const worker of workers) worker.go();
    for (const worker of workers) assert.equal(await worker.ended, 0);
    const ran = readFileSync(log, "utf8").trim().split("\n").map(Number);
    assert.deepEqual(
      ran.toSorted((a, b) => a - b),
      approved.toSorted((a, b) => a - b),
    );
    for (const name of readdirSync(join(folder, "store"))) {
      if (process.platform !== "win32")
        assert.equal(statSync(join(folder, "store", name)).mode & 0o777, 0o600);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a process that is killed between use and call: the call ran never, and the approval is used up", async () => {
  const folder = mkdtempSync(join(tmpdir(), "approvals-"));
  const log = join(folder, "log.txt");
  writeFileSync(log, "");
  try {
    const store = join(folder, "store");
    const registry = newRegistry({ store: { folder: store } }, () => "unused");
    const { id } = await registry
      .execute("t.run", 0, { identity: ADA })
      .catch(({ details }) => details.approval);
    await registry.approvals.decide(id, { approve: true });
    const worker = start([store, log, JSON.stringify([id]), "die"]);
    await worker.ready;
    worker.go();
    assert.equal(await worker.ended, process.platform === "win32" ? 1 : "SIGKILL");
    assert.equal((await registry.approvals.get(id)).status, "used");
    assert.equal(readFileSync(log, "utf8"), "");
    const again = registry.execute("t.run", 0, { identity: ADA, approval: id });
    await assert.rejects(again, { code: "APPROVAL_REQUIRED" });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
