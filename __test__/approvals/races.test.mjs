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

/** A store whose steps take random turns, and whose process may be killed after an approval was used. */
function slowStore(random) {
  const all = new Map();
  const turns = async () => {
    for (let left = random(4); left > 0; left--) await new Promise((resolve) => queueMicrotask(resolve));
  };
  const slow =
    (step) =>
    async (...args) => {
      await turns();
      const result = step(...args);
      await turns();
      return result;
    };
  const lost = new Set();
  return {
    lost,
    add: slow((id, request) => {
      all.set(id, { request, isUsed: false });
      return true;
    }),
    decide: slow((id, decision) => {
      const stored = all.get(id);
      if (stored === undefined || stored.isUsed || stored.decision !== undefined) return false;
      stored.decision = decision;
      return true;
    }),
    use: async (id) => {
      const stored = all.get(id);
      await turns();
      if (stored === undefined || stored.isUsed) return false;
      stored.isUsed = true;
      if (random(8) !== 0) return true;
      lost.add(id);
      throw new Error("killed");
    },
    read: slow((id) => all.get(id) && { ...all.get(id) }),
    ids: () => [...all.keys()],
    clear: () => all.clear(),
  };
}

test("10,000 random histories with a slow store, two users, changed inputs and processes that are killed after the use: a call runs once if it was approved in time, or never", async (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: 1_800_000_000_000 });
  const random = randomOf(41);
  const store = slowStore(random);
  const runs = new Map();
  const registry = newRegistry({ store, expires: 1000 }, ({ nr, path }) => {
    runs.set(path, (runs.get(path) ?? 0) + 1);
    assert.equal(path, `/${nr}`, "another input ran");
  });
  const eve = { id: "eve", scopes: [] };
  const seen = { ran: 0, lost: 0, expired: 0 };
  for (let nr = 0; nr < 10_000; nr++) {
    const path = `/${nr}`;
    const { id } = await registry
      .execute("t.run", { nr, path }, { identity: ADA })
      .catch(({ details }) => details.approval);
    const use = (input = { path, nr }, identity = ADA) =>
      registry.execute("t.run", input, { identity, approval: id });
    const decisions = [];
    const uses = [];
    const wrong = [];
    for (let step = 0; step < 8; step++) {
      const what = random(8);
      if (what < 2) decisions.push(registry.approvals.decide(id, { approve: what === 0 }));
      else if (what < 4) uses.push(use());
      else if (what === 4)
        wrong.push(use({ nr, path: `${path}x` }), use(undefined, eve), use({ path, nr: `${nr}` }));
      else if (what < 7) for (let turn = random(20); turn > 0; turn--) await Promise.resolve();
      else if (random(4) === 0) t.mock.timers.setTime(Date.now() + 600);
    }
    const decided = await settled(decisions);
    assert.ok(decided.length <= 1, `history ${nr}: decided twice`);
    const answered = await settled(uses);
    assert.deepEqual(await settled(wrong), [], `history ${nr}: a call that was not approved ran`);
    const total = runs.get(path) ?? 0;
    assert.equal(total, answered.length, `history ${nr}`);
    assert.ok(total <= 1, `history ${nr}: ran ${total} times`);
    if (total === 1)
      assert.equal(decided[0]?.value.status === "denied", false, `history ${nr}: denied, and ran`);
    const { status } = await registry.approvals.get(id);
    if (store.lost.has(id)) assert.deepEqual([total, status], [0, "used"], `history ${nr}: lost, and ran`);
    await use().catch(() => {});
    const isRun = total === 1 || (status === "approved" && !store.lost.has(id));
    assert.equal(runs.get(path) ?? 0, isRun ? 1 : 0, `history ${nr} ended ${status}`);
    seen.ran += total;
    seen.lost += store.lost.has(id) ? 1 : 0;
    seen.expired += status === "expired" ? 1 : 0;
    runs.clear();
    store.clear();
    t.mock.timers.setTime(Date.now() + 4_000_000);
  }
  for (const [what, count] of Object.entries(seen)) assert.ok(count > 100, `${what}: only ${count}`);
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
