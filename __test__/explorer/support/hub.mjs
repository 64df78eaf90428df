// A hub with 1,500 operations: some with every kind of field, some that fail, some that stream, and some by strangers with bad
// intentions.

import { after } from "node:test";
import { CallError, FromSchema, OperationRegistry, OperationType } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { Type } from "@sinclair/typebox";

export const TOKEN = "a-token-for-tests";
export const HOW_MANY = 1500;

const open = { requiredScopes: [] };
const base = { version: "1.0.0", accessControl: open, outputSchema: Type.Unknown() };
const query = (namespace, name, more) => ({
  ...base,
  namespace,
  name,
  type: OperationType.QUERY,
  description: "",
  ...more,
});
const stream = (namespace, name, more) => ({
  ...query(namespace, name, more),
  type: OperationType.SUBSCRIPTION,
});

/** Every kind of field that a schema can ask for. */
const everything = FromSchema({
  type: "object",
  additionalProperties: false,
  required: [
    "title",
    "count",
    "price",
    "active",
    "color",
    "kind",
    "tags",
    "address",
    "shape",
    "labels",
    "note",
  ],
  properties: {
    title: { type: "string", minLength: 1, maxLength: 80, description: "What it is called" },
    body: { type: "string", maxLength: 5000, description: "A long text" },
    count: { type: "integer", minimum: 0, maximum: 100 },
    price: { type: "number", exclusiveMinimum: 0, examples: [9.99] },
    active: { type: "boolean" },
    verbose: { type: "boolean", default: false },
    color: { enum: ["red", "green", "blue"] },
    level: { anyOf: [{ const: 1 }, { const: 2 }, { const: 3 }] },
    kind: { const: "order" },
    tags: { type: "array", items: { type: "string" }, minItems: 1 },
    point: {
      type: "array",
      prefixItems: [
        { type: "number", title: "x" },
        { type: "number", title: "y" },
      ],
      items: false,
    },
    address: {
      type: "object",
      required: ["city"],
      properties: { city: { type: "string" }, zip: { type: "string", pattern: "^\\d{5}$" } },
    },
    shape: {
      oneOf: [
        {
          type: "object",
          required: ["type", "radius"],
          properties: { type: { const: "circle" }, radius: { type: "number" } },
        },
        {
          type: "object",
          required: ["type", "width", "height"],
          properties: { type: { const: "box" }, width: { type: "number" }, height: { type: "number" } },
        },
      ],
    },
    labels: { type: "object", additionalProperties: { type: "string" } },
    note: { type: ["string", "null"] },
    day: { type: "string", format: "date" },
    at: { type: "string", format: "date-time" },
    email: { type: "string", format: "email" },
    id: { type: "string", format: "uuid" },
    site: { type: "string", format: "uri" },
    tree: { $ref: "#/$defs/tree" },
    extra: {},
  },
  $defs: {
    tree: {
      type: "object",
      required: ["value"],
      properties: { value: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/tree" } } },
    },
  },
});

const SCRIPT = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';

/** What strangers write, where the page shows it. */
const hostile = [
  query("<b>bad</b>", `<img src=x onerror="window.hacked=1">`, {
    title: SCRIPT,
    description: `${SCRIPT} javascript:alert(1) ${"long ".repeat(400)}`,
    tags: [SCRIPT, "\u202Eevil"],
    inputSchema: FromSchema({
      type: "object",
      required: [SCRIPT],
      properties: {
        [SCRIPT]: {
          type: "string",
          title: SCRIPT,
          description: SCRIPT,
          default: SCRIPT,
          pattern: "<script>",
        },
        ["__proto__"]: { type: "string", description: SCRIPT },
        constructor: { enum: [SCRIPT, "b"] },
        choice: {
          oneOf: [
            { title: SCRIPT, type: "string" },
            { title: SCRIPT, type: "object" },
          ],
        },
      },
    }),
    errorSchemas: [{ code: SCRIPT, description: SCRIPT, schema: {} }],
    handler: async () => ({ [SCRIPT]: SCRIPT, list: [SCRIPT], url: "javascript:window.hacked=1" }),
  }),
  query("bad", "fails", {
    title: "Fails with a message of its own",
    inputSchema: Type.Object({}),
    handler: async () => {
      throw new CallError("EXECUTION_ERROR", SCRIPT, { html: SCRIPT });
    },
  }),
  stream("bad", "events", {
    inputSchema: Type.Object({}),
    async *handler() {
      yield { html: SCRIPT };
    },
  }),
];

const ours = [
  query("demo", "greet", {
    title: "Say hello",
    description: "Greets a person by name.",
    tags: ["demo", "text"],
    inputSchema: Type.Object({ name: Type.String({ description: "Who is greeted" }) }),
    outputSchema: Type.Object({ greeting: Type.String() }),
    handler: async ({ name }) => ({ greeting: `Hello, ${name}` }),
  }),
  query("demo", "everything", {
    type: OperationType.MUTATION,
    title: "Every kind of field",
    description: "Gives its input back.\nIts form has every kind of field that a schema can ask for.",
    inputSchema: everything,
    handler: async (input) => input,
  }),
  query("demo", "nothing", {
    title: "Takes nothing, gives nothing",
    inputSchema: Type.Void(),
    outputSchema: Type.Void(),
    handler: async () => undefined,
  }),
  query("demo", "large", {
    title: "A large result",
    inputSchema: Type.Object({ rows: Type.Integer({ default: 2000 }) }),
    handler: async ({ rows }) =>
      Array.from({ length: rows }, (_, index) => ({ index, name: `row ${index}`, text: "x".repeat(600) })),
  }),
  query("demo", "odd", {
    title: "A result that is not what it declares",
    inputSchema: Type.Object({}),
    outputSchema: Type.Object({ open: Type.Boolean(), count: Type.Integer() }),
    handler: async () => ({ count: "3" }),
  }),
  query("demo", "slow", {
    title: "Takes its time",
    inputSchema: Type.Object({}),
    handler: (_, { signal }) =>
      new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
  }),
  query("demo", "broken", {
    type: OperationType.MUTATION,
    title: "Fails",
    inputSchema: Type.Object({}),
    errorSchemas: [{ code: "OUT_OF_STOCK", description: "Nothing is left", httpStatus: 409, schema: {} }],
    handler: async () => {
      throw new Error("OUT_OF_STOCK: nothing is left");
    },
  }),
  stream("demo", "ticks", {
    title: "Events, as many as one likes",
    inputSchema: Type.Object({ count: Type.Integer({ minimum: 0, default: 10_000 }) }),
    outputSchema: Type.Object({ tick: Type.Integer(), text: Type.String() }),
    async *handler({ count }) {
      for (let tick = 1; tick <= count; tick++) yield { tick, text: `the tick number ${tick}` };
    },
  }),
  stream("demo", "endless", {
    title: "Events without an end",
    inputSchema: Type.Object({}),
    async *handler() {
      for (let tick = 1; ; tick++) {
        yield { tick };
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
  }),
  stream("demo", "failing", {
    title: "Events that end with an error",
    inputSchema: Type.Object({}),
    async *handler() {
      yield { tick: 1 };
      throw new CallError("EXECUTION_ERROR", "The source is gone");
    },
  }),
  query("admin", "secret", {
    title: "For those who may",
    accessControl: { requiredScopes: ["admin"] },
    inputSchema: Type.Object({}),
    handler: async (_, { identity }) => ({ caller: identity?.id }),
  }),
];

const VERBS = ["list", "get", "create", "update", "delete", "archive", "restore", "search"];
const THINGS = ["Issues", "Orders", "Users", "Invoices", "Projects", "Files", "Messages", "Reports"];
const PLACES = ["crm", "billing", "tracker", "storage", "mail", "analytics"];

/** Many, as imported APIs have them. */
function many(count) {
  return Array.from({ length: count }, (_, index) => {
    const verb = VERBS[index % VERBS.length];
    const thing = THINGS[Math.floor(index / VERBS.length) % THINGS.length];
    const place = PLACES[Math.floor(index / 64) % PLACES.length];
    const version = Math.floor(index / 384) + 1;
    const isQuery = ["list", "get", "search"].includes(verb);
    return query(place, `${verb}${thing}V${version}`, {
      type: isQuery ? OperationType.QUERY : OperationType.MUTATION,
      title: `${verb[0].toUpperCase()}${verb.slice(1)} ${thing.toLowerCase()}`,
      description: `${verb} ${thing.toLowerCase()} of the ${place} service, version ${version}.`,
      tags: [place],
      inputSchema: Type.Object({
        id: Type.Optional(Type.String()),
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
      }),
      handler: async (input) => ({ index, input }),
    });
  });
}

/** Serves it until the tests of the file are done. */
export async function startHub(options = {}) {
  const registry = new OperationRegistry();
  registry.registerAll([...ours, ...hostile, ...many(HOW_MANY - ours.length - hostile.length)]);
  const served = await serve(registry, {
    doors: { http: { info: { title: "Test hub", version: "1.0.0" } }, explorer: true },
    tokens: { [TOKEN]: { id: "ada", scopes: ["admin"] } },
    anonymous: true,
    ...options,
  });
  after(() => served.close({ drain: 0 }));
  return Object.assign(served, { registry });
}
