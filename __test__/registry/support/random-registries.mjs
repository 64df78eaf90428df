// Random registries, and random calls of their operations. Each handler does what the script of the call says, in
// JavaScript here and natively in `src/registry_hooks.rs`.

import { createRequire } from "node:module";
import { CallError, FromSchema, OperationRegistry } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { nearJson } from "../../schema/support/near-json.mjs";
import { JsonSchemaMaker, jsonValue } from "../../schema/support/random-json-schemas.mjs";
import { SchemaMaker } from "../../schema/support/random-schemas.mjs";
import { nearValue, randomValue } from "../../schema/support/random-values.mjs";
// Registers the formats and kinds that random schemas speak of.
import "../../schema/support/typebox-copies.mjs";
import { native, runtime } from "../../support/internals.mjs";

const { addTraits } = createRequire(import.meta.url)("../../../dist/registry/handler-traits.js");

export const hooks = new native.RegistryHooks(runtime);

const SCOPES = ["read", "write", "admin", "a:b", "é"];
const KINDS = ["file", "fi", "project", "x:y"];
const ACTIONS = ["open", "delete"];
const MODES = [undefined, "normalise", "keep", "off", "strict"];

const nativeWork = {
  isPossible: () => true,
  ownsSchema: () => false,
  register: (registry, spec, { input, output }) => hooks.setScripted(registry, spec, input, output),
};

/** One step of a script: what a handler gives, or throws. */
function give(step) {
  if (step.code !== undefined) throw new CallError(step.code, step.message, step.details);
  if (step.thrown !== undefined) throw step.thrown.error ? new Error(step.thrown.error) : step.thrown.value;
  return step.meta === undefined ? step.value : { data: step.data, meta: step.meta };
}

/** Handlers of a registry's own, as a user's would be. */
export function scriptedHandler(type) {
  const handler =
    type === "subscription"
      ? async function* (_input, { metadata }) {
          for (const step of metadata.script) yield give(step);
        }
      : async (_input, { metadata }) => give(metadata.script);
  addTraits(handler, { nativeWork });
  return handler;
}

/** A registry with its operations; `operations` has what is needed to call them. */
export function randomRegistry(random) {
  const options = {
    output: random.pick(MODES),
    customAuth: { holds: (identity) => identity?.scopes.includes("read") === true },
  };
  const registry = new OperationRegistry(options);
  const operations = [];
  while (operations.length < 12) {
    const operation = randomOperation(random, operations.length);
    try {
      registry.register(operation.spec);
    } catch (error) {
      // A schema that nobody can use.
      if (error.code === "VALIDATION_ERROR") continue;
      throw error;
    }
    operations.push(operation);
  }
  return { registry, operations, options };
}

function randomOperation(random, index) {
  const isSimple = random.chance(0.6);
  const input = isSimple ? simpleSchema(random) : anySchema(random);
  const output = isSimple ? simpleSchema(random) : anySchema(random);
  const type = random.pick(["query", "query", "mutation", "subscription"]);
  const spec = {
    namespace: random.pick(["ns", "a.b", "é"]),
    name: `op${index}`,
    version: "1.0.0",
    type,
    description: "Does what it is told",
    inputSchema: input.schema,
    outputSchema: output.schema,
    accessControl: randomRules(random),
    handler: scriptedHandler(type),
  };
  if (random.chance(0.3)) spec._meta = { output: random.pick([...MODES, "sometimes"]) };
  if (random.chance(0.3)) {
    spec.errorSchemas = [{ code: "QUOTA", description: "Used up", schema: Type.Object({}) }];
  }
  if (random.chance(0.04)) spec.visibility = "internal";
  return { spec, id: `${spec.namespace}.${spec.name}`, input, output, isSimple };
}

/** Objects and lists such as most operations have. */
function simpleSchema(random) {
  const leaf = () =>
    random.pick([
      Type.String(),
      Type.Number(),
      Type.Integer({ minimum: 0 }),
      Type.Boolean(),
      Type.String({ default: "none" }),
      Type.Union([Type.Literal("on"), Type.Literal("off")]),
      Type.Union([Type.String(), Type.Null()]),
      Type.Unknown(),
    ]);
  const fields = (make) =>
    Object.fromEntries(random.some(["a", "b", "id", "name", "__proto__x"]).map((name) => [name, make()]));
  const object = (make) =>
    Type.Object(
      Object.fromEntries(
        Object.entries(fields(make)).map(([name, part]) => [
          name,
          random.chance(0.3) ? Type.Optional(part) : part,
        ]),
      ),
      random.pick([{}, {}, { additionalProperties: false }, { additionalProperties: true }]),
    );
  const schema = random.pick([
    () => object(leaf),
    () => object(() => random.pick([leaf, () => object(leaf), () => Type.Array(leaf())])()),
    () => Type.Array(object(leaf)),
    leaf,
  ])();
  return {
    schema,
    value: () => asText(randomValue(random, schema)),
    near: () => asText(nearValue(random, schema)),
  };
}

function anySchema(random) {
  if (random.chance(0.4)) {
    const source = new JsonSchemaMaker(random).make();
    const near = () => asText(nearJson(random, source));
    return {
      schema: FromSchema(source),
      value: () => (random.chance(0.3) ? asText(jsonValue(random)) : near()),
      near,
    };
  }
  const schema = new SchemaMaker(random).make();
  return {
    schema,
    value: () => asText(randomValue(random, schema)),
    near: () => asText(nearValue(random, schema)),
  };
}

/** The value as it would cross a wire; nothing for what JSON has no word for. */
function asText(value) {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

function randomRules(random) {
  const rules = { requiredScopes: random.chance(0.5) ? [] : random.some(SCOPES, 0.25) };
  if (random.chance(0.2)) rules.requiredScopesAny = random.some(SCOPES, 0.3);
  if (random.chance(0.15)) rules.resourceType = random.pick(KINDS);
  if (rules.resourceType !== undefined ? random.chance(0.9) : random.chance(0.02)) {
    rules.resourceAction = random.pick(ACTIONS);
  }
  if (random.chance(0.05)) rules.customAuth = random.pick(["holds", "nobody"]);
  return rules;
}

/** Other rules in place of those of an operation, or rules that must hold as well. */
export function changeRules(random, registry, operation) {
  if (random.chance(0.5)) {
    operation.added = randomRules(random);
    registry.protect(operation.id, operation.added);
  } else {
    operation.spec.accessControl = randomRules(random);
    registry.register(operation.spec);
  }
}

function randomIdentity(random) {
  if (random.chance(0.15)) return undefined;
  const identity = { id: random.pick(["ann", "", "é"]), scopes: random.some(SCOPES, 0.75) };
  if (random.chance(0.6)) {
    identity.resources = Object.fromEntries(
      random.times(0, 4, () => [
        `${random.pick(KINDS)}${random.pick([":", ":1", "", ":x:y"])}`,
        random.some(ACTIONS, 0.7),
      ]),
    );
  }
  return identity;
}

/** A call as the event that asks for it, in JSON. */
export function randomCall(random, operations, number) {
  const operation = random.pick(operations);
  const { spec, id, input } = operation;
  const isUnknown = random.chance(0.01);
  const isStream = spec.type === "subscription";
  const script = isStream ? random.times(0, 4, () => step(random, operation)) : step(random, operation);
  const isForHost = JSON.stringify(script).includes('"thrown":');
  const members = { requestId: `r${number}`, operationId: isUnknown ? `${id}x` : id };
  const identity = randomIdentity(random);
  if (identity !== undefined) members.identity = identity;
  if (random.chance(0.05)) members.deadline = Date.now() + 3_600_000;
  members.metadata = { script, ...(isForHost && { isForHost }) };
  const text = withTwists(random, random.chance(0.65) ? input.near() : input.value());
  const whole = JSON.stringify(members);
  const event = text === undefined ? whole : `${whole.slice(0, -1)},"input":${text}}`;
  return { event, operation, isUnknown, isForHost, isStream: isStream && !isUnknown };
}

/** Sometimes a key too many, or one twice: what JSON.parse takes, everybody takes. */
function withTwists(random, text) {
  if (text === undefined || !text.endsWith("}") || random.chance(0.8)) return text;
  const key = random.pick(["a", "id", "extra", "__proto__", "constructor"]);
  const value = random.pick(["1", '"x"', "null", "-0", "1e3", '"\\ud800"', "[]", '{"a":1}']);
  return `${text.slice(0, -1)}${text === "{}" ? "" : ","}"${key}":${value}}`;
}

function step(random, { output }) {
  const data = () => {
    const text = withTwists(random, random.chance(0.6) ? output.near() : output.value());
    return text === undefined ? undefined : JSON.parse(text);
  };
  return random.weighted([
    [10, () => ({ value: data() })],
    [4, () => ({ value: { data: data(), meta: randomMeta(random) } })],
    [1, () => ({ value: { ...{ extra: 1, data: data() }, meta: randomMeta(random), after: [] } })],
    [1, () => ({ value: { data: data(), meta: spoilt(random, randomMeta(random)) } })],
    [2, () => known(data(), randomMeta(random))],
    [
      3,
      () => ({
        code: random.pick(["QUOTA", "EXECUTION_ERROR", "TIMEOUT", "é", ""]),
        message: random.pick(["used up", "QUOTA: used up", "", "two\nlines"]),
        ...(random.chance(0.6) && { details: jsonValue(random) }),
      }),
    ],
    [
      0.7,
      () => ({
        thrown: random.pick([
          { error: "QUOTA" },
          { error: "QUOTA: used up" },
          { error: "QUOTAS" },
          { value: "text" },
          { value: null },
        ]),
      }),
    ],
  ])();
}

/** An envelope that its handler knows to be one. */
function known(data, meta) {
  const isDeclared = meta.source === "mcp" ? !meta.isError : meta.source !== "http" || data !== undefined;
  return { data, meta, isDeclared };
}

function randomMeta(random) {
  return random.pick([
    () => ({
      source: "local",
      operationId: random.pick(["other.op", ""]),
      timestamp: random.pick([1, 2.5, -0]),
    }),
    () => ({
      source: "http",
      statusCode: random.pick([200, 201.5]),
      headers: random.pick([{}, { "x-a": "1" }]),
      contentType: "application/json",
      ...(random.chance(0.3) && { sse: { event: "message", id: "" } }),
    }),
    () => ({
      source: "mcp",
      isError: random.chance(0.4),
      content: random.pick([[], [{ type: "text", text: "x" }]]),
      ...(random.chance(0.3) && { structuredContent: { a: 1 } }),
    }),
  ])();
}

/** Nearly the meta of an envelope. */
function spoilt(random, meta) {
  const copy = { ...meta };
  const key = random.pick(Object.keys(copy));
  if (random.chance(0.5)) delete copy[key];
  else copy[key] = random.pick([null, "x", 1, true, [], {}]);
  return copy;
}
