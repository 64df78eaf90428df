// Runs that wait: stored, resumed elsewhere, and killed in between. OPERATIONS_HISTORIES=2000 tries more histories; the seed is printed.

import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { OperationRegistry } from "@alkdev/operations";
import { createCodeRunner } from "@alkdev/operations/code";
import { programs } from "./support.mjs";

const folder = mkdtempSync(join(tmpdir(), "operations-code-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const newRunner = (dir, registry = programs()) => createCodeRunner(registry, { store: { dir } });
const WAITS =
  "const held = { n: await demo.double({ n: 1 }) }; held.sent = await pay.send({ key: 'a' }); return held";

async function waiting(dir, source = WAITS, options) {
  const runner = newRunner(dir);
  const run = await runner.run(source, options);
  await runner.close();
  assert.equal(run.status, "waiting", run.error?.message);
  return run;
}

describe("a run that needs an approval", () => {
  it("waits, and goes on where it stood in another runner", async () => {
    const dir = join(folder, "one");
    const { id, approvals } = await waiting(dir);
    assert.deepEqual(approvals, [{ id: "for-a", operationId: "pay.send", input: { key: "a" } }]);
    const runner = newRunner(dir);
    const { status, data } = await runner.resume(id);
    assert.deepEqual([status, data], ["completed", { n: 2, sent: "sent a" }]);
    assert.deepEqual((await runner.resume(id)).data, data, "a run that has ended gives its result again");
    await runner.forget(id);
    await assert.rejects(runner.resume(id), /There is no run/);
    await runner.close();
  });

  it("keeps its identity outside the machine", async () => {
    const dir = join(folder, "identity");
    const source = "await pay.send({ key: 'a' }); return (await demo.context({})).id";
    const { id } = await waiting(dir, source, { identity: { id: "ada", scopes: [] } });
    const runner = newRunner(dir);
    assert.equal((await runner.resume(id)).data, "ada");
    await runner.close();
  });

  it("waits for several at once, and a stream that is open then ends with ABORTED", async () => {
    const dir = join(folder, "several");
    const source = `const stream = demo.ticks({ to: 3 }); await stream.next();
      const sent = await Promise.all([pay.send({ key: "a" }), pay.send({ key: "b" })]);
      return [...sent, await stream.next().then(() => "open", ({ code }) => code)]`;
    const { id, approvals } = await waiting(dir, source);
    assert.equal(approvals.length, 2);
    const runner = newRunner(dir);
    assert.deepEqual((await runner.resume(id)).data, ["sent a", "sent b", "ABORTED"]);
    await runner.close();
  });

  it("is resumed by one host at a time", async () => {
    const dir = join(folder, "lock");
    const { id } = await waiting(dir);
    const [one, other] = [newRunner(dir), newRunner(dir)];
    const outcomes = await Promise.allSettled([one.resume(id), other.resume(id), one.resume(id)]);
    const refused = outcomes.filter(({ status }) => status === "rejected");
    assert.equal(outcomes.filter(({ value }) => value?.status === "completed").length, 3 - refused.length);
    assert.ok(refused.length >= 1);
    for (const { reason } of refused) assert.match(reason.message, /being continued already/);
    await Promise.all([one.close(), other.close()]);
  });

  it("is refused, and left as it is, if its record is damaged or of another engine", async () => {
    const dir = join(folder, "damaged");
    const { id } = await waiting(dir);
    const file = join(dir, `${id}.run`);
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replace('"calls"', '"callS"'));
    const runner = newRunner(dir);
    await assert.rejects(runner.resume(id), /checksum/);
    assert.ok(readdirSync(dir).includes(`${id}.run`));
    await assert.rejects(runner.resume("../up"), /letters, digits/);
    // The same record, whole, and stored by an engine with another hash.
    const body = JSON.stringify({
      ...JSON.parse(text.slice(text.indexOf("\n") + 1)),
      engine: "0".repeat(64),
    });
    writeFileSync(file, `${createHash("sha256").update(body).digest("hex")}\n${body}`);
    await assert.rejects(runner.resume(id), ({ message, details }) => {
      assert.match(message, /another version of quickjs-wasi/);
      return details.reason === "engine";
    });
    assert.ok(readFileSync(file, "utf8").endsWith(body), "the record is left as it is");
    await runner.close();
  });

  it("waits for a decision of registry.approvals, and a denial fails inside the program", async () => {
    const registry = new OperationRegistry();
    let paid = 0;
    registry.register({
      ...programs().getSpec("demo.double"),
      namespace: "pay",
      name: "out",
      approval: "always",
      handler: () => (paid += 1),
    });
    const runner = createCodeRunner(registry);
    const source = "return await pay.out({ n: input }).catch(({ code }) => code)";
    const identity = { id: "ada", scopes: [] };
    for (const approve of [true, false]) {
      const { id, status, approvals } = await runner.run(source, { identity, input: approve });
      assert.equal(status, "waiting");
      assert.equal((await runner.resume(id)).status, "waiting", "undecided, it waits on");
      await registry.approvals.decide(approvals[0].id, { approve, by: { id: "bob", scopes: [] } });
      assert.equal((await runner.resume(id)).data, approve ? 1 : "ACCESS_DENIED");
    }
    assert.equal(paid, 1);
    const asked = await runner.run(source, { identity, approve: () => true });
    assert.deepEqual([asked.status, asked.data], ["completed", 2]);
    await runner.close();
  });

  it("may be kept in a store of the application's own", async () => {
    const kept = new Map();
    const store = {
      get: async (id) => kept.get(id),
      put: async (id, text) => void kept.set(id, text),
      delete: async (id) => void kept.delete(id),
    };
    const runner = createCodeRunner(programs(), { store });
    const { id } = await runner.run(WAITS);
    assert.equal(kept.size, 1);
    assert.equal((await runner.resume(id)).status, "completed");
    await runner.close();
  });
});

/** A generator of numbers below 1 that a seed repeats. */
function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const HOST = fileURLToPath(new URL("host.mjs", import.meta.url));

/** Runs a host, which is killed after so many milliseconds. The runs that got to an end or a wait, by name. */
async function host(dir, effects, what, list, killAfter) {
  const child = fork(HOST, [dir, effects, what, JSON.stringify(list)], {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part) => {
    if (text === "" && killAfter !== undefined) setTimeout(() => child.kill("SIGKILL"), killAfter);
    text += part;
  });
  await new Promise((resolve) => child.on("close", resolve));
  const whole = text.split("\n").slice(1, -1);
  return new Map(whole.map((line) => JSON.parse(line)).map(({ name, run }) => [name, run]));
}

/** A program of calls one after the other and side by side; each failure is part of its value. */
function program(next) {
  let key = 0;
  const call = () => {
    key += 1;
    return `one("${next() < 0.3 ? "pay.send" : "work.do"}", "k${key}")`;
  };
  const steps = ['one("pay.send", "first")'];
  for (let i = 0; i < 2 + next() * 5; i++) {
    steps.push(next() < 0.3 ? `...await Promise.all([${call()}, ${call()}])` : call());
  }
  const lines = steps.map((step) =>
    step.startsWith("...") ? `all.push(${step});` : `all.push(await ${step});`,
  );
  return `const all = [];
    const one = (id, given, key = input + given) => operations[id]({ key }).then((value) => [key, value], ({ details }) => [key, details?.delivery ?? "failed"]);
    ${lines.join("\n")}
    return all`;
}

describe("hosts that are killed", () => {
  const histories = Number(process.env.OPERATIONS_HISTORIES ?? 30);
  const seed = Number(process.env.OPERATIONS_SEED ?? Date.now() % 2 ** 31);
  /** So many programs run in one host. */
  const BATCH = 10;

  it(`each side effect happens at most once, and each program reaches its right result (${histories} histories, seed ${seed})`, async () => {
    const next = random(seed);
    const counts = { unknown: 0, known: 0, killed: 0 };
    for (let first = 0; first < histories; first += BATCH) {
      const dir = join(folder, `h${first}`);
      const effects = `${dir}.effects`;
      writeFileSync(effects, "");
      const note = `seed ${seed}, histories from ${first}`;
      const list = Array.from({ length: BATCH }, (_, at) => ({
        name: `h${first + at}-`,
        source: program(next),
      }));
      const runs = await host(dir, effects, "run", list);
      for (let kills = 0; ; kills++) {
        const open = list.filter(({ name }) => runs.get(name)?.status === "waiting");
        if (open.length === 0) break;
        assert.ok(kills < 40, note);
        const ids = open.map(({ name }) => ({ name, id: runs.get(name).id }));
        const found = await host(dir, effects, "resume", ids, kills < 3 ? 50 + next() * 250 : undefined);
        counts.killed += open.length - found.size;
        for (const [name, run] of found) runs.set(name, run);
      }
      const lines = readFileSync(effects, "utf8").trim().split("\n");
      assert.equal(new Set(lines).size, lines.length, `${note}: a side effect happened twice`);
      for (const { name } of list) {
        const { status, data, error } = runs.get(name);
        assert.equal(status, "completed", `${note}, ${name}: ${error?.message}`);
        for (const [key, value] of data) {
          counts[value === "unknown" ? "unknown" : "known"] += 1;
          if (value === "unknown") continue;
          assert.match(value, new RegExp(`^(done|sent) ${key}$`), note);
          assert.ok(
            lines.some((line) => line.endsWith(` ${key}`)),
            `${note}: ${key} was reported and not done`,
          );
        }
      }
      rmSync(dir, { recursive: true, force: true });
    }
    console.log(JSON.stringify({ seed, histories, ...counts }));
  });
});
