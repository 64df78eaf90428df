// Hostile programs: attempts.mjs has what they try. Then values that pretend, at the border between machine and host, compared with JSON's
// own semantics; and records of runs that are damaged or forged. OPERATIONS_CASES=5000 tries more values; the seed is printed.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, describe, it } from "node:test";
import { runInThisContext } from "node:vm";
import { CallError } from "@alkdev/operations";
import { createCodeRunner } from "@alkdev/operations/code";
import { assertNoStalls } from "../support/event-loop.mjs";
import { AUTHORITY, END, OUTLIVE, REACH } from "./attempts.mjs";
import { programs } from "./support.mjs";

assertNoStalls();
const SECRET = "the password is hunter2";
const registry = programs();
const like = (id, name, more) =>
  registry.register({ ...registry.getSpec(id), namespace: "odd", name, ...more });
like("demo.ticks", "broken", {
  // biome-ignore lint/correctness/useYield: it fails before its first event
  async *handler() {
    throw new Error(SECRET);
  },
});
like("demo.double", "caused", {
  handler() {
    throw new Error("out", { cause: new CallError("EXECUTION_ERROR", SECRET, { SECRET }) });
  },
});
like("demo.ticks", "open", {
  async *handler() {
    for (let n = 0; ; n++) yield n;
  },
});
like("demo.double", "huge", {
  handler() {
    throw new CallError("TOO_MUCH", "x".repeat(4e6), { text: "y".repeat(4e6) });
  },
  errorSchemas: undefined,
});
registry.register({
  ...registry.getSpec("demo.double"),
  namespace: "pay",
  name: "out",
  approval: "always",
  handler: ({ n }) => n,
});
/** The names of operations that mean something to objects. */
const NAMES = [
  "__proto__",
  "constructor",
  "then",
  "toString",
  "valueOf",
  "toJSON",
  "default",
  "hasOwnProperty",
  "name",
];
/** Namespaces that are globals of a program. */
const GLOBALS = [
  "Object",
  "Promise",
  "console",
  "operations",
  "search",
  "describe",
  "input",
  "globalThis",
  "undefined",
  "constructor",
  "__proto__",
  "eval",
];
for (const name of NAMES) like("demo.double", name, { handler: () => `the operation ${name}` });
for (const namespace of GLOBALS) {
  registry.register({
    ...registry.getSpec("demo.double"),
    namespace,
    name: "op",
    handler: () => `the namespace ${namespace}`,
  });
}

const ada = { id: "ada", scopes: [] };
const runner = createCodeRunner(registry, { limits: { cpu: 60_000 } });
registry.registerAll(runner.operations());
const short = createCodeRunner(registry, { limits: { cpu: 100 } });
const quiet = createCodeRunner(registry, { limits: { cpu: 60_000, logs: 4096 } });
const small = createCodeRunner(registry, {
  limits: { cpu: 60_000, memory: 8 * 1024 * 1024, calls: 1000, concurrency: 1000 },
});
const timed = createCodeRunner(registry, { limits: { cpu: 60_000, time: 200 } });
const RUNNERS = { cpu: short, logs: quiet, memory: small, time: timed };
after(() => Promise.all([runner, short, quiet, small, timed].map((each) => each.close())));

/** For the programs: whether a call was refused, and whether an error shows the secret. */
const HELPERS = `const tried = async (run) => { try { await run(); return "in" } catch { return "out" } };
  const shown = (error) => /hunter2/.test([String(error), error.stack, error.cause, JSON.stringify(error), JSON.stringify(error.details)].join()) ? "shown" : "masked";`;

function isUnharmed() {
  assert.equal({}.polluted, undefined);
  assert.equal({}.identity, undefined);
  assert.equal([].toJSON, undefined);
}

describe("a hostile program does not reach", () => {
  for (const [what, [source, expected]] of Object.entries(REACH)) {
    it(what, async () => {
      const { status, data, error } = await runner.run(source, { identity: ada });
      assert.equal(status, "completed", error?.message);
      assert.deepEqual(data, expected);
      isUnharmed();
    });
  }
});

describe("a hostile program does not get", () => {
  for (const [what, [source, expected]] of Object.entries(AUTHORITY)) {
    it(what, async () => {
      const { status, data, error } = await runner.run(HELPERS + source, { identity: ada });
      if (expected === "waiting") return assert.equal(status, expected);
      assert.equal(status, "completed", error?.message);
      assert.deepEqual(data, expected);
      isUnharmed();
    });
  }
});

describe("a hostile program does not outlive its limit of", () => {
  for (const [limit, attempts] of Object.entries(OUTLIVE)) {
    describe(limit, () => {
      for (const [what, source] of Object.entries(attempts)) {
        it(what, async () => {
          const { status, error } = await (RUNNERS[limit] ?? runner).run(source, { identity: ada });
          assert.deepEqual(
            [status, error.code, error.details?.limit],
            ["failed", "LIMIT_EXCEEDED", limit],
            error.message,
          );
        });
      }
    });
  }

  it("any, where another program then runs as if nothing had been", async () => {
    for (const each of [runner, quiet, small]) assert.equal((await each.run("return 1")).data, 1);
  });
});

describe("a program ends with", () => {
  for (const [what, [source, code]] of Object.entries(END)) {
    it(what, async () => {
      const { status, error } = await runner.run(source, { identity: ada });
      assert.equal(status, "failed");
      assert.match(error.code, new RegExp(code));
      assert.equal((await runner.run("const n: number = 1; return n")).data, 1, "the next one runs");
    });
  }

  it("an error of an operation that is huge, cut", async () => {
    const source =
      "return await odd.huge({}).catch((error) => [error.code, error.message.length, error.details === undefined])";
    const { data } = await runner.run(source);
    assert.deepEqual([data[0], data[1] <= 256 * 1024, data[2]], ["TOO_MUCH", true, true]);
  });
});

describe("names that mean something to objects", () => {
  for (const name of NAMES) {
    it(`the operation odd.${name} is reached by its id`, async () => {
      const { data, error } = await runner.run(`return await operations["odd.${name}"]({})`);
      assert.equal(data, `the operation ${name}`, error?.message);
    });
  }

  it("a namespace with an operation then is no promise", async () => {
    const { data, calls } = await runner.run("return typeof await odd");
    assert.deepEqual([data, calls.length], ["object", 0]);
  });

  for (const namespace of GLOBALS) {
    it(`the namespace ${namespace} hides no global, and is reached by its id`, async () => {
      const source = `const seen = globalThis.${namespace};
        return [await operations["${namespace}.op"]({}), seen === operations || Object(seen).op === undefined]`;
      const { data, error } = await runner.run(source, { input: {} });
      assert.deepEqual(data, [`the namespace ${namespace}`, true], error?.message);
    });
  }
});

/** A generator of numbers below 1 that a seed repeats. */
function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** An expression whose value pretends, is odd, or is plain; the same text for both engines. */
function expression(next, depth = 0) {
  const pick = (list) => list[Math.floor(next() * list.length)];
  const inner = () => expression(next, depth + 1);
  const key = () =>
    pick([
      "a",
      "b",
      "1",
      "0",
      "['__proto__']",
      "constructor",
      "'\\ud800'",
      "''",
      "toString",
      "length",
      "'\\u2028'",
    ]);
  const leaves = [
    ..."0 -0 NaN Infinity 1e21 1e-7 0.1 123456789012345680000 true false null undefined".split(" "),
    ...[
      "''",
      "'\\ud800'",
      "'\\udc00x'",
      "'\\u0000'",
      "'\\u{1F600}'",
      "'\\u2028\\ufeff'",
      "'\\ufeff'",
      "'\"\\\\/'",
      "'\\x7f\\b'",
    ],
    ...[
      "10n",
      "Symbol('x')",
      "() => 1",
      "/x/g",
      "new Date(0)",
      "new Date(NaN)",
      "new Map([[1, 2]])",
      "new Set([1])",
    ],
    ...[
      "new Error('x')",
      "Object(1)",
      "Object('x')",
      "Object(false)",
      "Object(1n)",
      "Object(Symbol.iterator)",
      "new Uint8Array(2)",
    ],
    ...[
      "[,1]",
      "Object.create(null)",
      "new (class A { b = 1; #c = 2; get d() { return 3 } })()",
      "globalThis.JSON",
      "new Array(3)",
    ],
    ...[
      "(() => { const a = []; a[0] = a; return a })()",
      "(() => { const a = {}; a.b = { a }; return a })()",
      "new WeakMap()",
    ],
  ];
  if (depth > 3 || next() < 0.3) return pick(leaves);
  return pick([
    () => `[${Array.from({ length: next() * 4 }, inner).join(", ")}]`,
    () => `({ ${Array.from({ length: next() * 4 }, () => `${key()}: ${inner()}`).join(", ")} })`,
    () => `({ get ${key()}() { return ${inner()} }, ${key()}: 1 })`,
    () => `({ toJSON: (key) => [key, ${inner()}] })`,
    () => `({ toJSON: ${inner()} })`,
    () => `({ toJSON() { throw new Error("no") } })`,
    () => `({ get ${key()}() { throw new Error("no") } })`,
    () => `new Proxy(Object(${inner()}), {})`,
    () =>
      `new Proxy([], { get: (target, name) => name === "length" ? 2 : name === "toJSON" ? undefined : ${inner()} })`,
    () =>
      `new Proxy({}, { ownKeys: () => ["x", "a"], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }), get: (target, name) => name === "a" ? ${inner()} : undefined })`,
    () => `Object.assign(Object.create({ inherited: 1 }), { [Symbol("s")]: 1, own: ${inner()} })`,
    () => `Object.defineProperty({ seen: 1 }, "hidden", { value: ${inner()} })`,
    () => `({ then: ${inner()} })`,
    () => `({ __proto__: ${inner()}, own: 1 })`,
    () => `Object.assign([1, 2], { extra: ${inner()} })`,
    () => `JSON.parse('{"__proto__":[1],"a":{"constructor":{"prototype":1}}}')`,
  ])();
}

const FAILS = "it cannot be written";
const written = (make) => {
  try {
    return JSON.stringify(make()) ?? "undefined";
  } catch {
    return FAILS;
  }
};

describe("the border between machine and host", () => {
  const cases = Number(process.env.OPERATIONS_CASES ?? 3000);
  const seed = Number(process.env.OPERATIONS_SEED ?? Date.now() % 2 ** 31);
  const BATCH = 100;

  it(`values cross it as JSON says, in both directions (${cases} values, seed ${seed})`, async () => {
    const next = random(seed);
    const received = [];
    const own = programs();
    own.register({
      ...own.getSpec("demo.echo"),
      name: "give",
      handler: (input) => {
        received.push(JSON.stringify(input));
        return input ?? null;
      },
    });
    const crossing = createCodeRunner(own, { limits: { calls: 1000, cpu: 60_000, output: 16e6 } });
    for (let first = 0; first < cases; first += BATCH) {
      const all = Array.from({ length: BATCH }, () => expression(next));
      received.length = 0;
      const source = `const all = [];
        for (const make of [${all.map((text) => `() => (${text})`).join(",\n")}]) {
          try { all.push(JSON.stringify(await demo.give({ v: make() }))) }
          catch (error) { all.push(/cannot be written as JSON/.test(error.message) ? "${FAILS}" : String(error)) }
        }
        return all`;
      const { data, error } = await crossing.run(source);
      assert.equal(error, undefined, `seed ${seed}, values from ${first}: ${error?.message}`);
      const sent = all.map((text) => written(() => ({ v: runInThisContext(`(${text})`) })));
      for (const [at, text] of all.entries()) {
        assert.equal(data[at], sent[at], `seed ${seed}, value ${first + at}: ${text}`);
      }
      assert.deepEqual(
        received,
        sent.filter((each) => each !== FAILS),
        `seed ${seed}, values from ${first}`,
      );
    }
    await crossing.close();
  });

  it(`the value of a program and its input are JSON too (seed ${seed})`, async () => {
    const next = random(seed + 1);
    for (let n = 0; n < cases / 50; n++) {
      const text = expression(next);
      const note = `seed ${seed}, value ${n}: ${text}`;
      const expected = written(() => [runInThisContext(`(${text})`)]);
      const { status, data, error } = await runner.run(`return [${text}]`);
      if (expected === FAILS) assert.match(error.message, /cannot be written as JSON/, note);
      else assert.deepEqual([status, JSON.stringify(data)], ["completed", expected], note);
      if (expected === FAILS) continue;
      const back = await runner.run("return JSON.stringify(input)", { input: JSON.parse(expected) });
      assert.equal(back.data, expected, note);
    }
  });
});

describe("a record of a run", () => {
  const kept = {};
  const store = {
    get: async (id) => kept[id],
    put: async (id, text) => {
      kept[id] = text;
    },
    delete: async (id) => {
      delete kept[id];
    },
  };
  const stored = createCodeRunner(registry, { store, limits: { cpu: 2_000 } });
  after(() => stored.close());
  const seal = (body) => `${createHash("sha256").update(body).digest("hex")}\n${body}`;
  const waits = async () => {
    const run = await stored.run("return [await pay.out({ n: 1 }), 5]", { identity: ada });
    assert.equal(run.status, "waiting");
    return run.id;
  };

  it("is not found by names of objects, paths, or what is no text", async () => {
    for (const id of [
      "__proto__",
      "constructor",
      "toString",
      "",
      "../x",
      "a/b",
      "a\\b",
      ".",
      "x".repeat(65),
      "a\0",
      {},
      ["a"],
      null,
      undefined,
      7,
    ]) {
      await assert.rejects(
        stored.resume(id),
        { code: /VALIDATION_ERROR|INVALID|EXECUTION_ERROR/ },
        String(id),
      );
    }
  });

  it("of another identity is not there: neither for others nor for callers without one", async () => {
    const { id } = await runner.run("return await pay.out({ n: 1 })", { identity: ada });
    for (const context of [{ identity: { id: "eve", scopes: ["admin"] } }, {}]) {
      for (const code of ["code.run"]) {
        await assert.rejects(registry.execute(code, { resume: id }, context), /There is no run/);
      }
    }
    const nobody = await runner.run("return await pay.out({ n: 2 })");
    await assert.rejects(
      registry.execute("code.run", { resume: nobody.id }, { identity: ada }),
      /There is no run/,
    );
  });

  it("that was cut or changed anywhere is refused, and left as it is", async () => {
    const seed = Date.now() % 2 ** 31;
    const next = random(seed);
    const id = await waits();
    const whole = kept[id];
    for (let n = 0; n < 40; n++) {
      const at = Math.floor(next() * whole.length);
      const letter = String.fromCharCode((whole.charCodeAt(at) % 90) + 33);
      const damaged = n % 2 ? whole.slice(0, at) : whole.slice(0, at) + letter + whole.slice(at + 1);
      if (damaged === whole) continue;
      kept[id] = damaged;
      await assert.rejects(stored.resume(id), { details: { reason: "damaged" } }, `seed ${seed}, at ${at}`);
      assert.equal(kept[id], damaged);
    }
    kept[id] = whole;
    assert.equal((await stored.resume(id)).status, "waiting");
  });

  it("that was forged with a checksum ends as a failure, and harms nobody else", async () => {
    const id = await waits();
    const record = JSON.parse(kept[id].slice(kept[id].indexOf("\n") + 1));
    const { machine } = record;
    const forged = {
      "no object": null,
      "an array": [],
      "no engine": { ...record, engine: undefined },
      "another engine": { ...record, engine: "0".repeat(64) },
      "no machine bytes": { ...record, machine: { token: machine.token, bytes: "" } },
      "bytes that are no machine": {
        ...record,
        machine: { ...machine, bytes: Buffer.from("nonsense").toString("base64") },
      },
      "half of a machine": { ...record, machine: { ...machine, bytes: machine.bytes.slice(0, 1e4) } },
      "another token": { ...record, machine: { ...machine, token: 2 ** 30 } },
    };
    for (const [what, body] of Object.entries(forged)) {
      const text = seal(JSON.stringify(body));
      kept[id] = text;
      const outcome = await stored.resume(id).catch((error) => ({ status: "refused", error }));
      assert.match(outcome.status, /^(refused|failed)$/, what);
      assert.ok(outcome.error.code, `${what}: ${outcome.error}`);
      assert.equal(kept[id], text, `${what}: the record is left as it is`);
      assert.equal((await stored.run("return 1")).data, 1, `after ${what}`);
    }
  });
});
