// The schema engine next to TypeBox (interpreted and compiled), Ajv and Zod, interleaved in one run: hot
// checks, the first ten calls of sixty fresh schemas, and the time to compile one.

import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { Value } from "@sinclair/typebox/value";
import { Ajv } from "ajv";
import { sizes, typeboxSchema, values, zodSchema } from "./schema-cases.mjs";
import { median, printTable } from "./support.mjs";

const require = createRequire(import.meta.url);
const { CompiledSchema } = require("../dist/schema/compiled.js");

/** For each contestant: from nothing to a function that checks. */
const contestants = {
  "TypeBox Value.Check": (size) => {
    const schema = typeboxSchema(size);
    return (value) => Value.Check(schema, value);
  },
  "TypeBox TypeCompiler": (size) => {
    const check = TypeCompiler.Compile(typeboxSchema(size));
    return (value) => check.Check(value);
  },
  Ajv: (size) => new Ajv().compile(typeboxSchema(size)),
  "Zod 4": (size) => {
    const schema = zodSchema(size);
    return (value) => schema.safeParse(value).success;
  },
  ours: (size) => {
    const schema = new CompiledSchema(typeboxSchema(size));
    return (value) => schema.check(value);
  },
  "ours, exact shape": (size) => {
    const schema = new CompiledSchema(typeboxSchema(size));
    schema.warmUp();
    return (value) => schema.isExact(value);
  },
};
const hotOnly = new Set(["ours, exact shape"]);

const [mode, ...rest] = process.argv.slice(2);
if (mode === "--cold") cold(...rest);
else report();

/** In a process of its own: sixty fresh schemas, ten calls each. Prints microseconds for each schema. */
function cold(name, size) {
  const SCHEMAS = 60;
  const value = values[size];
  const start = process.hrtime.bigint();
  for (let i = 0; i < SCHEMAS; i++) {
    const check = contestants[name](size);
    for (let call = 0; call < 10; call++) if (!check(value)) throw new Error("must pass");
  }
  console.log(Number(process.hrtime.bigint() - start) / 1000 / SCHEMAS);
}

function report() {
  for (const size of sizes) {
    const checks = Object.entries(contestants).map(([name, make]) => [name, make(size)]);
    const count = { small: 400_000, medium: 20_000, large: 300 }[size];
    const times = new Map(checks.map(([name]) => [name, []]));
    for (let round = 0; round < 9; round++) {
      for (const [name, check] of checks) {
        const calls = name === "TypeBox Value.Check" ? Math.ceil(count / 10) : count;
        times.get(name).push(time(check, values[size], calls));
      }
    }
    show(`hot check, ${size}`, "ns", times);
  }
  for (const size of sizes) {
    const names = Object.keys(contestants).filter((name) => !hotOnly.has(name));
    const times = new Map(names.map((name) => [name, []]));
    for (let round = 0; round < 7; round++) {
      for (const name of names) {
        const args = [fileURLToPath(import.meta.url), "--cold", name, size];
        times.get(name).push(1000 * Number(execFileSync(process.execPath, args, { encoding: "utf8" })));
      }
    }
    show(`cold, first ten calls of sixty schemas, ${size}`, "us for each schema", times, 1000);
  }
  for (const size of sizes) {
    const makers = {
      "TypeBox TypeCompiler": (schema) => TypeCompiler.Compile(schema),
      Ajv: (schema) => new Ajv().compile(schema),
      "ours, for the walk": (schema) => new CompiledSchema(schema),
      "ours, with JavaScript for check and shape": (schema) => new CompiledSchema(schema).warmUp(),
    };
    const times = new Map(Object.keys(makers).map((name) => [name, []]));
    for (let round = 0; round < 9; round++) {
      for (const [name, make] of Object.entries(makers)) {
        const schemas = Array.from({ length: 50 }, () => typeboxSchema(size));
        const start = process.hrtime.bigint();
        for (const schema of schemas) make(schema);
        times.get(name).push(Number(process.hrtime.bigint() - start) / schemas.length);
      }
    }
    show(`compile, ${size}`, "us", times, 1000);
  }
}

function time(check, value, calls) {
  const start = process.hrtime.bigint();
  let passed = 0;
  for (let i = 0; i < calls; i++) if (check(value)) passed++;
  if (passed !== calls) throw new Error("must pass");
  return Number(process.hrtime.bigint() - start) / calls;
}

function show(title, unit, times, divisor = 1) {
  const compiled = median(times.get("TypeBox TypeCompiler"));
  printTable(
    [title, unit, "TypeCompiler = 1"],
    [...times].map(([name, list]) => [
      name,
      (median(list) / divisor).toFixed(1),
      `${(compiled / median(list)).toFixed(2)}x`,
    ]),
  );
}
