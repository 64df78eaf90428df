// biome-ignore-all lint/suspicious/noTemplateCurlyInString: template marks in ordinary strings are what is tested.

// Schemas and values that mean harm: nothing of them is executed, nothing hangs, nothing crashes, and
// what the user's own code throws arrives unharmed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CallError, FromSchema } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { attacks } from "../../bench/hostile-schema-cases.mjs";
import { assertNoStalls, turn } from "../support/event-loop.mjs";
import { HOSTILE_NAMES, PROTOTYPE_NAMES } from "./support/random-words.mjs";
import { CompiledSchema } from "./support/typebox-copies.mjs";

assertNoStalls();

const NAMES = [
  ...HOSTILE_NAMES,
  ...PROTOTYPE_NAMES,
  '"+globalThis.trap()+"',
  "'+globalThis.trap()+'",
  "`+globalThis.trap()+`",
  '\\"+globalThis.trap()//',
  "\\u0022+globalThis.trap()//",
  "\n globalThis.trap() //",
  "\u2028 globalThis.trap() //",
  "*/globalThis.trap()/*",
  "//",
  "</script>",
  "x]; globalThis.trap(); [",
  "x) || globalThis.trap() || (",
  "env",
  "value",
  "v0",
  "return",
  "__defineGetter__",
  "isPrototypeOf",
];

/** Runs with a global function that hostile text tries to call. */
function withTrap(work) {
  let sprung = 0;
  globalThis.trap = () => {
    sprung += 1;
    return true;
  };
  try {
    work();
  } finally {
    delete globalThis.trap;
  }
  assert.equal(sprung, 0, "text of a schema was executed");
}

function own(name, value) {
  return Object.defineProperty({}, name, { value, enumerable: true, writable: true, configurable: true });
}

/** The same verdict from the emitted check and the walk, and the wanted one. */
function assertVerdict(compiled, value, wanted, about) {
  assert.equal(compiled.walk(value), wanted, `walk: ${about}`);
  assert.equal(compiled.check(value), wanted, `emitted: ${about}`);
  assert.equal(compiled.errors(value).length === 0, wanted, `errors: ${about}`);
}

function emitted(schema) {
  const compiled = new CompiledSchema(schema);
  assert.equal(compiled.warmUp().check, true, "no code was emitted");
  return compiled;
}

test("property names are never code", () => {
  withTrap(() => {
    for (const name of NAMES) {
      const about = JSON.stringify(name);
      for (const compiled of [
        emitted(Type.Object(own(name, Type.String()))),
        emitted(Type.Object(own(name, Type.String()), { additionalProperties: false })),
        emitted({ type: "object", required: [name], properties: own(name, { type: "string" }) }),
        emitted(FromSchema({ type: "object", required: [name], properties: own(name, { type: "string" }) })),
      ]) {
        assertVerdict(compiled, own(name, "x"), true, about);
        assertVerdict(compiled, own(name, 1), false, about);
        assertVerdict(compiled, {}, false, about);
        const exact = own(name, "x");
        assert.equal(compiled.normalise(exact).value, exact);
      }
      const optional = emitted(Type.Object(own(name, Type.Optional(Type.String()))));
      assertVerdict(optional, {}, true, about);
      assertVerdict(optional, own(name, 1), false, about);
      const filled = new CompiledSchema(Type.Object(own(name, Type.String({ default: "d" })))).normalise(
        {},
      ).value;
      assert.equal(Object.getOwnPropertyDescriptor(filled, name)?.value, "d", about);
      assert.equal(Object.getPrototypeOf(filled), Object.prototype, about);
    }
  });
});

test("constants, patterns, formats and references are never code", () => {
  withTrap(() => {
    for (const text of NAMES) {
      const about = JSON.stringify(text);
      const literal = emitted(Type.Literal(text));
      assertVerdict(literal, text, true, about);
      assertVerdict(literal, `${text}x`, false, about);
      const listed = emitted({ enum: [text, own(text, [text])] });
      assertVerdict(listed, text, true, about);
      assertVerdict(listed, own(text, [text]), true, about);
      assertVerdict(listed, `${text}x`, false, about);
      const formatted = emitted(Type.String({ format: text }));
      assertVerdict(formatted, "x", true, about);
      const escaped = text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
      const pattern = emitted(Type.Object({ a: Type.String({ pattern: `^${escaped}$` }) }));
      assertVerdict(pattern, { a: text }, true, about);
      assertVerdict(pattern, { a: `${text}x` }, false, about);
      const record = emitted(Type.Record(Type.String({ pattern: `^${escaped}$` }), Type.Number()));
      assertVerdict(record, own(text, 1), true, about);
      assertVerdict(record, own(text, "1"), false, about);
      const kept = new CompiledSchema({
        $defs: own(text, { type: "string" }),
        $ref: `#/$defs/${pointer(text)}`,
      });
      kept.warmUp();
      assertVerdict(kept, "x", true, about);
      assertVerdict(kept, 1, false, about);
    }
  });
});

function pointer(name) {
  return encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"));
}

test("numbers keep their value in emitted code", () => {
  const numbers = [-0, 0, 5e-324, 1.7976931348623157e308, 1e21, 0.1, -1e-7, 2 ** 53, 123456789.12345679];
  for (const number of numbers) {
    const literal = emitted(Type.Literal(number));
    assertVerdict(literal, number, true, number);
    assertVerdict(literal, number + Math.max(1, Math.abs(number)), false, number);
    const bounded = emitted(Type.Number({ minimum: number, maximum: number }));
    assertVerdict(bounded, number, true, number);
  }
});

const tree = Type.Recursive((self) => Type.Object({ next: Type.Optional(self) }), { $id: "hostile-tree" });

/** An answer, or a CallError; nothing else, and no crash. */
function answers(work) {
  try {
    return { answer: work() };
  } catch (error) {
    assert.ok(error instanceof CallError, String(error?.stack ?? error));
    return { error };
  }
}

function deep(levels) {
  let value = {};
  for (let i = 0; i < levels; i++) value = { next: value };
  return value;
}

test("cycles and values of 100,000 levels give a result or an error", () => {
  const cycle = {};
  cycle.next = cycle;
  const list = [];
  list.push(list);
  for (const value of [cycle, deep(100_000), { next: cycle }]) {
    for (const schema of [
      tree,
      FromSchema({
        $ref: "#/$defs/t",
        $defs: { t: { type: "object", properties: { next: { $ref: "#/$defs/t" } } } },
      }),
    ]) {
      const compiled = new CompiledSchema(schema);
      compiled.warmUp();
      for (const work of [
        () => compiled.walk(value),
        () => compiled.check(value),
        () => compiled.isExact(value),
        () => compiled.errors(value),
        () => compiled.normalise(value),
      ]) {
        answers(work);
      }
    }
    // What the schema says nothing about is not walked into.
    const shallow = new CompiledSchema(Type.Object({ next: Type.Unknown() }));
    shallow.warmUp();
    assertVerdict(shallow, value, true, "unknown");
    assert.equal(shallow.normalise(value).value, value);
  }
  const arrays = new CompiledSchema(Type.Recursive((self) => Type.Array(self), { $id: "hostile-list" }));
  arrays.warmUp();
  for (const work of [() => arrays.walk(list), () => arrays.check(list), () => arrays.normalise(list)])
    answers(work);
  const unique = new CompiledSchema(Type.Array(Type.Any(), { uniqueItems: true }));
  unique.warmUp();
  for (const value of [
    [cycle, list],
    [deep(100_000), deep(100_000)],
  ]) {
    answers(() => unique.walk(value));
    answers(() => unique.check(value));
    answers(() => unique.errors(value));
  }
  const text = `${'{"next":'.repeat(100_000)}{}${"}".repeat(100_000)}`;
  const compiled = new CompiledSchema(tree);
  assert.ok(answers(() => compiled.checkJson(text)).error);
  // The process is in good order.
  assertVerdict(compiled, deep(100), true, "afterwards");
});

test("what a getter throws during a check reaches the caller as it is", () => {
  for (const thrown of [
    new Error("mine"),
    "a string",
    undefined,
    null,
    { any: "thing" },
    new RangeError("mine"),
  ]) {
    const value = {
      get a() {
        throw thrown;
      },
    };
    for (const schema of [
      Type.Object({ a: Type.String() }),
      Type.Union([Type.Object({ a: Type.String() }), Type.Object({ a: Type.Number() })]),
      Type.Record(Type.String(), Type.String()),
      Type.Object({}, { additionalProperties: Type.String() }),
      FromSchema({ properties: { a: { type: "string" } }, additionalProperties: false }),
      FromSchema({ not: { enum: [{ a: 1 }] } }),
    ]) {
      const compiled = new CompiledSchema(schema);
      compiled.warmUp();
      for (const work of [
        () => compiled.walk(value),
        () => compiled.check(value),
        () => compiled.errors(value),
        () => compiled.normalise(value),
      ]) {
        let caught = "nothing";
        try {
          work();
        } catch (error) {
          caught = error;
        }
        assert.equal(caught, thrown, `${work} with ${JSON.stringify(schema)}`);
      }
    }
  }
});

test("a check uses the traps of proxies, and what these throw reaches the caller", () => {
  const schema = Type.Object(
    { a: Type.String(), b: Type.Optional(Type.Number()) },
    { additionalProperties: false },
  );
  const compiled = emitted(schema);
  assertVerdict(compiled, new Proxy({ a: "x" }, {}), true, "transparent");
  assertVerdict(compiled, new Proxy({ a: "x", c: 1 }, {}), false, "transparent");
  const thrown = new Error("trap");
  for (const trap of ["get", "ownKeys"]) {
    const value = new Proxy(
      { a: "x", c: 1 },
      {
        [trap]: () => {
          throw thrown;
        },
      },
    );
    for (const work of [
      () => compiled.walk(value),
      () => compiled.check(value),
      () => compiled.normalise(value),
    ]) {
      assert.throws(work, (error) => error === thrown, `${trap}: ${work}`);
    }
  }
  const { proxy, revoke } = Proxy.revocable({ a: "x" }, {});
  revoke();
  assert.throws(() => compiled.walk(proxy), TypeError);
  assert.throws(() => compiled.check(proxy), TypeError);
});

test("huge arrays and objects are checked", async () => {
  const numbers = Array.from({ length: 1_000_000 }, (_, index) => index);
  const compiled = emitted(Type.Array(Type.Integer({ minimum: 0 })));
  await turn();
  assert.equal(compiled.check(numbers), true);
  await turn();
  assert.equal(compiled.walk(numbers), true);
  await turn();
  assert.equal(compiled.walk([...numbers, "x"]), false);
  await turn();
  assert.equal(compiled.errors(Array(100_000).fill("x")).length, 1000);
  const unique = emitted(Type.Array(Type.Integer(), { uniqueItems: true }));
  assert.equal(unique.check(numbers.slice(0, 100_000)), true);
  await turn();
  const wide = Object.fromEntries(numbers.slice(0, 100_000).map((number) => [`k${number}`, number]));
  assert.equal(emitted(Type.Record(Type.String(), Type.Integer())).check(wide), true);
  assert.deepEqual(new CompiledSchema(Type.Object({ k1: Type.Integer() })).normalise(wide).value, { k1: 1 });
});

/** Each level doubles the work. */
function doubling(levels, keyword) {
  const $defs = { d0: { type: "string", maxLength: 1 } };
  for (let level = 1; level <= levels; level++) {
    const below = { $ref: `#/$defs/d${level - 1}` };
    $defs[`d${level}`] = { [keyword]: [below, { title: "again", allOf: [below] }] };
  }
  return { $ref: `#/$defs/d${levels}`, $defs };
}

test("schemas that multiply their work end quickly with a CallError", async () => {
  for (const keyword of ["allOf", "anyOf", "oneOf"]) {
    const compiled = new CompiledSchema(doubling(40, keyword), { untrusted: true });
    compiled.warmUp();
    const value = keyword === "allOf" ? "x" : "too long";
    for (const work of [
      () => compiled.walk(value),
      () => compiled.check(value),
      () => compiled.errors(value),
      () => compiled.normalise(value),
      () => compiled.checkJson(JSON.stringify(value)),
    ]) {
      await turn();
      // Without a bound this would be 2^40 steps, and the test would never end.
      const { error } = answers(work);
      assert.ok(error, `${keyword}: ${work} should reach a bound`);
    }
  }
});

test("schemas that refer to themselves in place are refused or end", () => {
  for (const schema of [
    { $ref: "#" },
    { allOf: [{ $ref: "#" }] },
    { $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" },
    { anyOf: [{ type: "string" }, { not: { $ref: "#" } }] },
  ]) {
    answers(() => {
      const compiled = new CompiledSchema(schema);
      compiled.warmUp();
      answers(() => compiled.walk(1));
      answers(() => compiled.check(1));
      answers(() => compiled.errors(1));
      answers(() => compiled.normalise(1));
    });
  }
});

test("patterns that backtrack without end are bounded", async () => {
  const text = `${"a".repeat(50_000)}!`;
  for (const pattern of [
    "^(a+)+$",
    "^(a|a)*$",
    "^(a|aa)+$",
    "^(.*a){20}$",
    "(?=(a+)+$)x",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
  ]) {
    for (const schema of [
      { type: "string", pattern },
      { patternProperties: { [pattern]: false } },
      FromSchema({ type: "string", pattern }),
    ]) {
      const compiled = new CompiledSchema(schema, { untrusted: true });
      compiled.warmUp();
      const value = schema.patternProperties === undefined ? text : { [text]: 1 };
      for (const work of [
        () => compiled.walk(value),
        () => compiled.check(value),
        () => compiled.errors(value),
        () => compiled.checkJson(JSON.stringify(value)),
      ]) {
        await turn();
        // A verdict or a CallError; without a bound the test would never end.
        answers(work);
      }
    }
  }
});

test("a bad schema harms no other", () => {
  for (const schema of [
    { pattern: "(" },
    { $ref: "http://example.com/none" },
    { $ref: "#/nowhere" },
    { type: "nothing" },
  ]) {
    answers(() => new CompiledSchema(schema, { untrusted: true }));
  }
  assertVerdict(emitted(Type.Object({ a: Type.String() })), { a: "x" }, true, "afterwards");
});

/** Attacks that would take seconds to hours: no way through the engine answers them. */
const ENDLESS = [
  "50 look-aheads that succeed, 16 KB",
  "100 patterns that backtrack, each to its limit",
  "uniqueItems 500 times on 20,000 objects",
  "allOf that doubles 40 times",
  "anyOf that doubles 40 times",
  "not in not, doubling by depth",
  "$dynamicRef that doubles",
  "conditions in conditions",
];

test("a schema from outside that would block the thread ends as too much work, and says so", async () => {
  for (const name of ENDLESS) {
    const { schema, value } = attacks[name];
    await turn();
    const compiled = new CompiledSchema(FromSchema(schema()));
    const given = value();
    await turn();
    const tooMuch = (error) =>
      error instanceof CallError &&
      error.code === "VALIDATION_ERROR" &&
      ["work", "backtracking"].includes(error.details.limit);
    assert.throws(() => compiled.walk(given), tooMuch, `walk: ${name}`);
    await turn();
    assert.throws(() => compiled.normalise(given), tooMuch, `normalise: ${name}`);
    await turn();
    compiled.warmUp();
    assert.throws(() => compiled.check(given), tooMuch, `emitted: ${name}`);
    await turn();
    assert.equal(compiled.isExact(given), false, `exact: ${name}`);
    // The next one is unharmed.
    assert.equal(new CompiledSchema(FromSchema({ type: "integer" })).check(1), true);
  }
});

test("a large value is checked, by the walk or by emitted code", () => {
  const items = {
    type: "object",
    required: ["id"],
    properties: { id: { type: "integer" }, name: { type: "string" } },
  };
  const compiled = new CompiledSchema(FromSchema({ type: "array", items }));
  const value = Array.from({ length: 200_000 }, (_, id) => ({ id, name: "name" }));
  assert.equal(compiled.check(value), true);
  assert.deepEqual(compiled.errors(value), []);
  assert.equal(compiled.normalise(value).value, value);
  value.unshift({ id: "x" });
  assert.equal(compiled.check(value), false);
  assert.equal(compiled.errors(value)[0].path, "/0/id");
});
