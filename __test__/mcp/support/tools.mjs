// The tools of the hand-made servers: each shows one thing that tools do.

import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { sleep } from "../../support/waiting.mjs";

const DEEP = 50_000;
const anything = { type: "object" };
const text = (value) => ({ content: [{ type: "text", text: value }] });
const json = (value) => text(JSON.stringify(value));

const person = {
  type: "object",
  properties: {
    name: { type: "string" },
    age: { type: "integer" },
    role: { type: "string", default: "guest" },
  },
  required: ["name", "age", "role"],
};

export const tools = [
  {
    name: "echo",
    title: "Echo",
    description: "Says what it was told",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    annotations: { readOnlyHint: true, openWorldHint: false },
    handler: ({ text: said }) => text(said),
  },
  {
    name: "arguments",
    description: "Tells the arguments that arrived",
    inputSchema: anything,
    handler: (args) => json(args),
  },
  {
    name: "person",
    description: "Structured content that fits the declared schema",
    inputSchema: anything,
    outputSchema: person,
    handler: () => structured({ name: "Ada", age: 36, role: "admin" }),
  },
  {
    name: "sloppy-person",
    description: "Structured content with a number as text, an undeclared property and a missing one",
    inputSchema: anything,
    outputSchema: person,
    handler: () => structured({ name: "Ada", age: "36", secret: true }),
  },
  {
    name: "undeclared-structure",
    description: "Structured content without a declared schema",
    inputSchema: anything,
    handler: () => structured({ any: ["thing"] }),
  },
  {
    name: "fail",
    description: "The tool itself fails",
    inputSchema: anything,
    outputSchema: person,
    handler: () => ({ content: [{ type: "text", text: "no such person" }], isError: true }),
  },
  {
    name: "json-text",
    description: "JSON in a text block, as many servers do",
    inputSchema: { type: "object", properties: { text: { type: "string" } } },
    outputSchema: person,
    handler: ({ text: said }) => text(said ?? '{"name":"Ada","age":"36","role":"admin"}'),
  },
  {
    name: "two-texts",
    description: "Two text blocks, each of them JSON",
    inputSchema: anything,
    handler: () => ({
      content: [
        { type: "text", text: "{}" },
        { type: "text", text: "{}" },
      ],
    }),
  },
  {
    name: "every-content",
    description: "All kinds of content, the unknown too",
    inputSchema: anything,
    handler: () => ({
      content: [
        { type: "text", text: "t", annotations: { audience: ["user"], priority: 1 }, _meta: { a: 1 } },
        { type: "image", data: "aW1n", mimeType: "image/png" },
        { type: "audio", data: "c25k", mimeType: "audio/wav" },
        { type: "resource", resource: { uri: "test://r", mimeType: "text/plain", text: "r" } },
        { type: "resource_link", uri: "test://l", name: "l", title: "L", size: 3 },
        { type: "hologram", depth: 3 },
        { type: "text" },
      ],
      _meta: { "test/cost": 7 },
    }),
  },
  {
    name: "no-content",
    description: "A result without anything in it",
    inputSchema: anything,
    handler: () => ({}),
  },
  {
    name: "large",
    description: "A text of so many bytes",
    inputSchema: { type: "object", properties: { bytes: { type: "integer" } }, required: ["bytes"] },
    handler: ({ bytes }) => text("x".repeat(bytes)),
  },
  {
    name: "wait",
    description: "Takes its time, and tells how far it is",
    inputSchema: {
      type: "object",
      properties: { steps: { type: "integer" }, pause: { type: "number" } },
    },
    async handler({ steps = 1, pause = 10 }, { isCancelled, progress }) {
      for (let step = 1; step <= steps && !isCancelled(); step++) {
        await sleep(pause);
        progress({ progress: step, total: steps, message: `step ${step}` });
      }
      return text(`done after ${steps}`);
    },
  },
  {
    name: "chatter",
    description: "Tells its progress so many times, without a pause",
    inputSchema: { type: "object", properties: { count: { type: "integer" } }, required: ["count"] },
    handler({ count }, { progress }) {
      for (let i = 1; i <= count; i++) progress({ progress: i, total: count });
      return text("done");
    },
  },
  {
    name: "deep",
    description: "Structured content of so many levels",
    inputSchema: { type: "object", properties: { depth: { type: "integer" } }, required: ["depth"] },
    // Written by hand: `JSON.stringify` would run out of stack.
    handler: ({ depth }) => ({ written: nested(depth) }),
  },
  {
    name: "raw-result",
    description: "Whatever text it is given, as its result",
    inputSchema: { type: "object", properties: { written: { type: "string" } }, required: ["written"] },
    handler: ({ written }) => ({ written }),
  },
  {
    name: "never",
    description: "Never answers",
    inputSchema: anything,
    handler: () => new Promise(() => {}),
  },
  {
    name: "received",
    description: "Tells all that the client sent",
    inputSchema: anything,
    handler: (_, { conversation }) => json(conversation.received),
  },
  {
    name: "about-me",
    description: "Tells about the process of the server",
    inputSchema: anything,
    handler: () => json({ pid: process.pid, cwd: process.cwd(), env: { ...process.env } }),
  },
  {
    name: "die",
    description: "The server ends before it answers",
    inputSchema: anything,
    async handler({ words = "the roof is on fire", code = 7 }, { conversation }) {
      process.stderr.write(`${words}\n`);
      await sleep(20);
      conversation.end(code);
    },
  },
  ...["die-once", "die-once-read-only", "die-once-idempotent"].map((name) => ({
    name,
    description: "The server ends in the first call; the file at `marker` tells that there was one",
    inputSchema: { type: "object", properties: { marker: { type: "string" } }, required: ["marker"] },
    annotations: {
      readOnlyHint: name.endsWith("read-only"),
      ...(name.endsWith("idempotent") && { idempotentHint: true }),
    },
    handler({ marker }, { conversation }) {
      const first = !existsSync(marker);
      appendFileSync(marker, "called\n");
      if (first) {
        conversation.end(9);
        return new Promise(() => {});
      }
      return text("alive again");
    },
  })),
  {
    name: "learn",
    description: "The server gains a tool, or describes it anew",
    inputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
    handler({ name, description }, { conversation }) {
      conversation.addTool({
        name,
        description,
        inputSchema: anything,
        handler: () => text(`${name} works`),
      });
      return text("learnt");
    },
  },
  {
    name: "forget",
    description: "The server loses a tool",
    inputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
    handler({ name }, { conversation }) {
      conversation.removeTool(name);
      return text("forgotten");
    },
  },
  {
    name: "elicit",
    description: "Asks the user something, and tells the client's answer",
    inputSchema: anything,
    handler: async ({ form }, { conversation }) => {
      const { result, error } = await conversation.ask("elicitation/create", {
        message: "What is your name?",
        requestedSchema: form ?? { type: "object", properties: { name: { type: "string" } } },
      });
      return json({ result, error });
    },
  },
  {
    name: "elicit-often",
    description: "Asks the user something again and again, and tells how the client answered",
    inputSchema: anything,
    handler: async ({ times }, { conversation }) => {
      let declined = 0;
      const refused = [];
      for (let i = 0; i < times; i++) {
        const question = { message: "Well?", requestedSchema: { type: "object", properties: {} } };
        const { error } = await conversation.ask("elicitation/create", question);
        if (error === undefined) declined += 1;
        else refused.push(error.message);
      }
      return json({ declined, refused });
    },
  },
  {
    name: "sample",
    description: "Asks for a model to be run, and tells the client's answer",
    inputSchema: anything,
    handler: async (_, { conversation }) => {
      const { result, error } = await conversation.ask("sampling/createMessage", {
        messages: [{ role: "user", content: { type: "text", text: "Tell a joke" } }],
        maxTokens: 100,
      });
      return json({ result, error });
    },
  },
  {
    name: "ask-roots",
    description: "Asks for the roots, and tells the client's answer",
    inputSchema: anything,
    handler: async (_, { conversation }) => json(await conversation.ask("roots/list", {})),
  },
  {
    name: "ask-nonsense",
    description: "Asks the client for something that does not exist",
    inputSchema: anything,
    handler: async (_, { conversation }) => {
      const { result, error } = await conversation.ask("wishes/grant", { wish: "gold" });
      return json({ result, error });
    },
  },
  {
    name: "record",
    description: "Notes that it was called, with a number",
    inputSchema: { type: "object", properties: { number: { type: "integer" } }, required: ["number"] },
    handler: ({ number }) => {
      appendFileSync(process.env.RECORD, `${number}\n`);
      return text(String(number));
    },
  },
  {
    name: "write-file",
    description: "Leaves a mark that the call was carried out",
    inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    handler: ({ path }) => {
      writeFileSync(path, "carried out");
      return text("written");
    },
  },
];

/** Tools whose schemas cannot be used, between two good ones. */
export const strangeTools = [
  { name: "good-before", inputSchema: anything, handler: () => text("before") },
  { name: "schema-is-text", inputSchema: "an object, please", handler: (args) => json(args) },
  { name: "schema-is-missing", handler: (args) => json(args) },
  {
    name: "schema-points-nowhere",
    inputSchema: { type: "object", properties: { a: { $ref: "#/$defs/missing" } } },
    handler: (args) => json(args),
  },
  {
    name: "bad-output-schema",
    inputSchema: anything,
    outputSchema: { type: "object", properties: { a: { type: "string", pattern: "(" } } },
    handler: () => structured({ a: "b" }),
  },
  { name: "good-after", inputSchema: anything, handler: () => text("after") },
];

/** Tools whose results cost much to check. */
export const costlyTools = [
  {
    name: "costly-pattern",
    inputSchema: anything,
    outputSchema: {
      type: "object",
      properties: { a: { type: "string", pattern: `^(?:${"(?=[^]*$)".repeat(50)}a)*$` } },
      required: ["a"],
    },
    handler: () => structured({ a: "a".repeat(16_000) }),
  },
  {
    name: "costly-choice",
    inputSchema: anything,
    outputSchema: {
      type: "object",
      properties: {
        list: {
          anyOf: Array.from({ length: 100 }, (_, i) => ({
            type: "array",
            items: { type: "object", properties: { a: { type: "integer" }, [`b${i}`]: { type: "string" } } },
            maxItems: 1,
          })),
        },
      },
    },
    handler: () => structured({ list: Array.from({ length: 50_000 }, (_, i) => ({ a: i, b: "x" })) }),
  },
];

/** Tools whose schemas refer to themselves. */
export const recursiveTools = [
  {
    name: "tree",
    inputSchema: {
      type: "object",
      properties: { root: { $ref: "#/$defs/node" } },
      required: ["root"],
      $defs: {
        node: {
          type: "object",
          properties: {
            value: { $ref: "#/$defs/count" },
            children: { type: "array", items: { $ref: "#/$defs/node" } },
          },
          required: ["value"],
        },
        count: { type: "integer", minimum: 0 },
      },
    },
    handler: (args) => json(args),
  },
  {
    name: "tree-of-itself",
    inputSchema: {
      type: "object",
      properties: { value: { type: "string" }, next: { $ref: "#" } },
      required: ["value"],
    },
    handler: (args) => json(args),
  },
];

function nested(depth) {
  return `{"content":[],"structuredContent":${'{"next":'.repeat(depth)}{}${"}".repeat(depth)}}`;
}

/** The JSON of a tool whose schema is deeper than any stack. */
export const deepTool = `{"name":"deep-schema","inputSchema":${'{"type":"object","properties":{"next":'.repeat(DEEP)}{}${"}}".repeat(DEEP)}}`;

function structured(value) {
  return { content: [{ type: "text", text: JSON.stringify(value) }], structuredContent: value };
}

/** Tools that are described at greater length than a client should read: many values, or many bytes. */
export const lengthyTools = [
  { name: "many-values", inputSchema: { type: "object", allOf: Array.from({ length: 80_000 }, () => ({})) } },
  { name: "many-bytes", inputSchema: { type: "object", description: "d".repeat(2_000_000) } },
];
