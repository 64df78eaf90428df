// Runs that wait: stored, resumed elsewhere, and killed in between. OPERATIONS_HISTORIES=5000 tries more histories; the seed is printed.

import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
/** Where there is a file system in memory, many small records do not wait for a disk. */
const histories = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "operations-histories-"));
after(() => rmSync(histories, { recursive: true, force: true }));

let tasks = 0;
/** Runs a host. What got to an end or a wait, by name; `undefined` for what another host has. */
async function host(dir, effects, task, killAfter) {
  tasks += 1;
  const file = `${dir}.task${tasks}`;
  writeFileSync(file, JSON.stringify(task));
  const child = fork(HOST, [dir, effects, file], { stdio: ["ignore", "pipe", "inherit", "ipc"] });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part) => {
    text += part;
  });
  if (killAfter !== undefined) setTimeout(() => child.kill("SIGKILL"), killAfter).unref();
  await new Promise((resolve) => child.on("close", resolve));
  const whole = text.split("\n").slice(0, -1);
  return new Map(whole.map((line) => JSON.parse(line)).map(({ name, run }) => [name, run]));
}

/** A program of calls in many forms, each failure a part of its value. Its state is in a closure, a map, and a generator. */
function program(next) {
  let key = 0;
  const call = () => {
    key += 1;
    const odds = next();
    const id = odds < 0.25 ? "pay.send" : odds < 0.85 ? "work.do" : "broken.do";
    return `one("${id}", "k${key}")`;
  };
  const forms = [
    () => `await ${call()};`,
    () => `await Promise.all([${call()}, ${call()}]);`,
    () => `await Promise.allSettled([${call()}, ${call()}, ${call()}]);`,
    () => `await Promise.race([${call()}, ${call()}]); await settled();`,
    () => `for (const at of [1, 2]) await one("work.do", ++loops + "-" + at);`,
    () => `await Promise.all([${call()}, (async () => { await ${call()}; await ${call()}; })()]);`,
    () => `await (all.length % 2 ? ${call()} : ${call()});`,
    () => "await stream();",
    () => "await search('do');",
  ];
  const steps = Array.from({ length: 2 + next() * 4 }, () => forms[Math.floor(next() * forms.length)]());
  return `const all = [], open = new Set(), seen = new Map(), numbers = (function* () { for (let n = 1; ; n++) yield n })();
    let ticked = 0, loops = 0;
    const settled = () => Promise.all([...open]);
    // A stream does not outlive its host.
    const stream = async () => {
      let sum = 0;
      try { for await (const n of demo.ticks({ to: 3 })) sum += n; ticked += sum; }
      catch ({ code }) { if (code !== "ABORTED") throw code; }
    };
    const one = (id, given, key = input + given) => {
      const call = operations[id]({ key }).then((value) => [key, value], ({ code, details }) => [key, details?.delivery ?? code])
        .then((entry) => { all.push(entry); seen.set(key, numbers.next().value); open.delete(call); });
      open.add(call);
      return call;
    };
    ${next() < 0.5 ? 'await one("work.do", "before");' : ""}
    await one("pay.send", "first");
    ${steps.join("\n")}
    await settled();
    return { all, ticked, count: numbers.next().value - 1, seen: seen.size }`;
}

describe("hosts that are killed", () => {
  const total = Number(process.env.OPERATIONS_HISTORIES ?? 400);
  const seed = Number(process.env.OPERATIONS_SEED ?? Date.now() % 2 ** 31);
  const MOST_DEATHS = 4;
  /** So many programs begin in one host. */
  const BATCH = Math.min(50, total);

  it(`each side effect happens at most once, and each program reaches its right result (${total} histories, seed ${seed})`, async () => {
    const next = random(seed);
    const counts = { unknown: 0, known: 0, hosts: 0, lost: 0, refused: 0 };
    const batch = async (first, note) => {
      const dir = join(histories, `h${first}`);
      const effects = `${dir}.effects`;
      writeFileSync(effects, "");
      const begin = Array.from({ length: BATCH }, (_, at) => ({
        name: `h${first + at}-`,
        source: program(next),
      }));
      const runs = await host(dir, effects, {
        list: begin,
        ...(next() < 0.3 && { dieAt: 1 + Math.floor(next() * 400) }),
      });
      counts.hosts += 1;
      // A run is there as soon as it is stored, whoever heard of it.
      const known = new Set([...runs.values()].map(({ id }) => id));
      const stored = existsSync(dir) ? readdirSync(dir).filter((file) => file.endsWith(".run")) : [];
      for (const id of stored.map((file) => file.slice(0, -4))) {
        if (!known.has(id)) runs.set(id, { id, status: "waiting" });
      }
      counts.lost += BATCH - runs.size;
      for (let deaths = 0; ; deaths++) {
        const open = [...runs].filter(([, { status }]) => status === "waiting");
        if (open.length === 0) break;
        assert.ok(deaths < 60, `${note}: it comes to no end`);
        const task = () => ({
          list: open.map(([name, { id }]) => ({ name, id })),
          ...(deaths < MOST_DEATHS && { dieAt: 1 + Math.floor(next() * 250), isGraceful: next() < 0.2 }),
        });
        // Two hosts want the same runs now and then; and some are killed by the clock.
        const several = deaths < MOST_DEATHS && next() < 0.2 ? [task(), task()] : [task()];
        counts.hosts += several.length;
        const after = () => (deaths < MOST_DEATHS && next() < 0.2 ? 300 + next() * 600 : undefined);
        for (const found of await Promise.all(several.map((each) => host(dir, effects, each, after())))) {
          for (const [name, run] of found) {
            if (run === undefined) counts.refused += 1;
            else runs.set(name, run);
          }
        }
      }
      const lines = readFileSync(effects, "utf8").trim().split("\n");
      assert.equal(new Set(lines).size, lines.length, `${note}: a side effect happened twice`);
      const done = new Set(lines.map((line) => line.slice(line.indexOf(" ") + 1)));
      for (const [name, { status, data, error }] of runs) {
        const where = `${note}, ${name}`;
        assert.equal(status, "completed", `${where}: ${JSON.stringify(error)}`);
        assert.deepEqual(
          [data.count, data.seen, data.ticked % 6],
          [data.all.length, data.all.length, 0],
          where,
        );
        for (const [key, value] of data.all) {
          counts[value === "unknown" ? "unknown" : "known"] += 1;
          if (value === "unknown") continue;
          assert.ok(
            value === "NOT_TODAY" || new RegExp(`^(done|sent) ${key}$`).test(value),
            `${where}: ${key} ${value}`,
          );
          assert.ok(done.has(key), `${where}: ${key} was reported and not done`);
        }
      }
      rmSync(dir, { recursive: true, force: true });
    };
    for (let first = 0; first < total; first += 2 * BATCH) {
      const note = `seed ${seed}, histories from ${first}`;
      await Promise.all([batch(first, note), first + BATCH < total && batch(first + BATCH, note)]);
    }
    console.log(JSON.stringify({ seed, total, ...counts }));
  });
});
