// What a program sees, what it may, and where it ends.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createCodeRunner } from "@alkdev/operations/code";
import { programs } from "./support.mjs";

const registry = programs();
// Plenty: the machine may be busy with other things.
const runner = createCodeRunner(registry, { limits: { cpu: 60_000 } });
after(() => runner.close());

const dataOf = async (source, options) => {
  const { status, data, error } = await runner.run(source, options);
  assert.equal(status, "completed", error?.message);
  return data;
};
const errorOf = async (source, limits, options) => {
  const other = limits === undefined ? runner : createCodeRunner(registry, { limits });
  const { status, error } = await other.run(source, options);
  assert.equal(status, "failed");
  if (other !== runner) await other.close();
  return error;
};

describe("a program", () => {
  it("calls operations by namespace and by id, and reads its input", async () => {
    const source = "return [await demo.double({ n: input.n }), await operations['demo.double']({ n: 2 })]";
    assert.deepEqual(await dataOf(source, { input: { n: 21 } }), [42, 4]);
  });

  it("gets the envelope on request", async () => {
    const envelope = await dataOf("return await demo.double.envelope({ n: 1 })");
    assert.deepEqual([envelope.data, envelope.meta.source], [2, "local"]);
  });

  it("reads subscriptions, and may leave them early", async () => {
    const source =
      "const all = []; for await (const n of demo.ticks({ to: 9 })) { all.push(n); if (n === 3) break; } return all";
    assert.deepEqual(await dataOf(source), [1, 2, 3]);
  });

  it("may be a module whose default export is called with the input, or is the value", async () => {
    assert.equal(await dataOf("export default async (given) => demo.double({ n: given })", { input: 3 }), 6);
    assert.equal(await dataOf("export default 5"), 5);
  });

  it("may be TypeScript", async () => {
    assert.equal(await dataOf("interface A { n: number }\nconst a: A = { n: 4 }; return a.n as number"), 4);
  });

  it("finds and describes operations, and reads what a function is", async () => {
    assert.deepEqual(await dataOf("return (await search('double a number')).map(({ id }) => id)"), [
      "demo.double",
    ]);
    assert.match(await dataOf("return (await describe(demo.double)).signature"), /demo\.double/);
    assert.match(
      await dataOf("return String(demo.double)"),
      /operation demo\.double: Does double.*await operations/,
    );
  });

  it("reads which operations there are: those that its identity may call, and no internal ones", async () => {
    const ids = await dataOf("return Object.keys(operations)");
    assert.ok(ids.includes("demo.double") && !ids.includes("admin.wipe") && !ids.includes("demo.secret"));
    const identity = { id: "root", scopes: ["admin"] };
    assert.equal(await dataOf("return await admin.wipe({})", { identity }), "wiped");
  });

  it("that misspells a name reads which one is near", async () => {
    assert.match((await errorOf("return demo.duble({})")).message, /Did you mean demo\.double/);
    assert.match((await errorOf("return dmeo.double({})")).message, /Did you mean demo/);
    assert.match(
      (await errorOf("return operations['demo.doubel']({})")).message,
      /Did you mean demo\.double/,
    );
  });

  it("keeps its globals: a namespace of the same name is reached by its id", async () => {
    assert.deepEqual(await dataOf("return [JSON.parse('1'), await operations['JSON.parse']({})]"), [
      1,
      "ours",
    ]);
  });

  it("that throws, that is no program, or that waits for ever is a run that failed and says why", async () => {
    assert.match((await errorOf("throw new TypeError('no')")).message, /TypeError: no/);
    assert.equal((await errorOf("return (")).code, "SYNTAX_ERROR");
    assert.match((await errorOf("await new Promise(() => {})")).message, /never happens/);
    assert.match((await errorOf("return () => 1")).message, /cannot be written as JSON/);
    assert.match((await errorOf("const a = {}; a.a = a; return a")).message, /cannot be written as JSON/);
  });

  it("writes to console, which the host hears line by line", async () => {
    const heard = [];
    const { logs } = await runner.run("console.log('a', { b: 1 }); console.error(new Error('c'))", {
      onLog: (log) => heard.push(log),
    });
    assert.deepEqual(logs[0], { level: "info", text: 'a {"b":1}' });
    assert.equal(logs[1].level, "error");
    assert.deepEqual(heard, logs);
  });
});

describe("the authority of a program", () => {
  it("is that of an ordinary call from outside, with the run as its parent", async () => {
    const identity = { id: "ada", scopes: [] };
    assert.deepEqual(await dataOf("return await demo.context({})", { identity }), {
      id: "ada",
      trusted: null,
      hasParent: true,
      hasSignal: true,
    });
  });

  it("does not read the messages of exceptions", async () => {
    const source =
      "try { await demo.fail({}) } catch (error) { return JSON.stringify([error.code, error.message, error.details, error.stack]) }";
    const text = await dataOf(source);
    assert.match(text, /EXECUTION_ERROR","The operation failed/);
    assert.doesNotMatch(text, /hunter2/);
  });

  // Each reaches for something that it must not have; the value says what it got.
  const ATTEMPTS = {
    "the host's process by a constructor": [
      "return [typeof process, typeof require, demo.double.constructor('return typeof process + typeof require')()]",
      ["undefined", "undefined", "undefinedundefined"],
    ],
    "a module": ["return await import('node:fs').then(() => 'in', () => 'out')", "out"],
    "timers and the network": [
      "return [typeof setTimeout, typeof fetch, typeof WebAssembly, typeof XMLHttpRequest]",
      ["undefined", "undefined", "undefined", "undefined"],
    ],
    "an operation without the scope, through the map's prototype": [
      "return await Promise.resolve().then(() => operations['admin.wipe']({})).then(() => 'in', () => 'out')",
      "out",
    ],
    "an internal operation": [
      "return await Promise.resolve().then(() => operations['demo.secret']({})).then(() => 'in', () => 'out')",
      "out",
    ],
    "another identity in the input": [
      "return (await demo.context({ identity: { id: 'root', scopes: ['admin'] }, trusted: true })).id",
      null,
    ],
    "the host's prototypes": [
      'await demo.echo(JSON.parse(\'{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}\')); return 1',
      1,
    ],
    "answers of others, with a changed Promise": [
      "Promise.prototype.then = () => { throw 1 }; JSON.parse = () => ({ n: 1 }); Object.prototype.toJSON = undefined; return await demo.double({ n: 4 })",
      8,
    ],
    // biome-ignore lint/suspicious/noThenProperty: it is what is tried
    "the host by a thenable": ["return await demo.echo({ then: 'no function' })", { then: "no function" }],
    "the host by getters and proxies": [
      "let reads = 0; const sly = new Proxy({}, { ownKeys: () => ['a'], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 1 }), get: (_, name) => name === 'a' ? ++reads : undefined }); return await demo.echo({ sly, get b() { return 2 } })",
      { sly: { a: 1 }, b: 2 },
    ],
    "the shared map": [
      "try { operations['demo.double'] = () => 'mine' } catch {} try { demo.double.envelope = 1 } catch {} return await operations['demo.double']({ n: 1 })",
      2,
    ],
    "the host by toJSON": ["return await demo.echo({ toJSON: () => ({ n: 1 }) })", { n: 1 }],
  };
  for (const [what, [source, expected]] of Object.entries(ATTEMPTS)) {
    it(`does not reach ${what}`, async () => {
      assert.deepEqual(await dataOf(source), expected);
      assert.equal({}.polluted, undefined);
    });
  }

  it("stands up to huge and deep inputs", async () => {
    assert.match((await errorOf("await demo.echo('x'.repeat(5e6))")).message, /more than 4194304 characters/);
    const deep =
      "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; try { await demo.echo(a); return 'sent' } catch (error) { return error.message }";
    assert.match(await dataOf(deep), /cannot be written as JSON/);
    assert.match(
      (await errorOf("let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a")).message,
      /cannot be written as JSON/,
    );
    assert.equal(await dataOf("return 1"), 1);
  });

  it("loses its calls with its end: they are aborted", async () => {
    const own = programs();
    let signal;
    let isClosed = false;
    own.register({
      ...own.getSpec("demo.never"),
      name: "held",
      handler: (_, context) => {
        signal = context.signal;
        return new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    });
    own.register({
      ...own.getSpec("demo.ticks"),
      name: "open",
      async *handler() {
        try {
          for (;;) yield 1;
        } finally {
          isClosed = true;
        }
      },
    });
    const other = createCodeRunner(own);
    await other.run("demo.held({}); await demo.open({}).next(); return 1");
    assert.equal(signal.aborted, true);
    await other.close();
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(isClosed, true);
  });

  it("ends with the signal and with the deadline", async () => {
    const signal = AbortSignal.timeout(20);
    assert.equal((await errorOf("await demo.never({})", undefined, { signal })).code, "ABORTED");
    const deadline = Date.now() + 50;
    assert.equal(
      (await errorOf("try { await demo.never({}) } catch {} for (;;) {}", undefined, { deadline })).code,
      "TIMEOUT",
    );
  });
});

describe("limits end a run, also where the program catches", () => {
  const CAUGHT = (body) => `for (;;) { try { ${body} } catch {} }`;
  const LIMITS = {
    cpu: [CAUGHT("for (;;) {}"), { cpu: 200 }],
    memory: [
      CAUGHT("const a = []; for (;;) a.push(new Array(1000).fill(0))"),
      { memory: 8 * 1024 * 1024, cpu: 60_000 },
    ],
    time: [CAUGHT("await demo.never({})"), { time: 100 }],
    calls: [CAUGHT("await demo.double({ n: 1 })"), { calls: 5 }],
    output: ["return 'x'.repeat(2000)", { output: 1000 }],
    logs: [CAUGHT("console.log('x'.repeat(100))"), { logs: 1000 }],
    source: [`return ${"1 + ".repeat(500)}1`, { source: 1000 }],
  };
  for (const [name, [source, limits]] of Object.entries(LIMITS)) {
    it(name, async () => {
      const { code, details } = await errorOf(source, limits);
      assert.deepEqual([code, details.limit], ["LIMIT_EXCEEDED", name]);
    });
  }

  for (const [what, source] of Object.entries({
    "a catastrophic regular expression": "/(a+)+$/.test('a'.repeat(40) + 'b')",
    "endless microtasks":
      "const turn = () => { Promise.resolve().then(turn) }; turn(); await new Promise(() => {})",
    "a built-in that does not look up": "const a = new Array(2 ** 31); for (;;) a.join()",
  })) {
    it(`cpu: ${what}`, async () => assert.equal((await errorOf(source, { cpu: 200 })).details.limit, "cpu"));
  }

  it("concurrency waits instead", async () => {
    const own = programs();
    let now = 0;
    let most = 0;
    own.register({
      ...own.getSpec("demo.double"),
      name: "counted",
      handler: async () => {
        now += 1;
        most = Math.max(most, now);
        await new Promise((resolve) => setTimeout(resolve, 5));
        now -= 1;
        return 1;
      },
    });
    const few = createCodeRunner(own, { limits: { concurrency: 2 } });
    const { data } = await few.run(
      "return (await Promise.all([1, 2, 3, 4, 5].map(() => demo.counted({})))).length",
    );
    assert.deepEqual([data, most], [5, 2]);
    await few.close();
  });

  it("one run that computes delays neither another nor the event loop", async () => {
    const busy = createCodeRunner(registry, { limits: { cpu: 60_000 } });
    const control = new AbortController();
    const running = busy.run("for (;;) {}", { signal: control.signal });
    assert.equal((await busy.run("return await demo.double({ n: 1 })")).data, 2);
    control.abort();
    assert.equal((await running).error.code, "ABORTED");
    await busy.close();
  });
});
