// How time and memory grow with the work: each part at 1, 10 and 100 times, in a process of its own, and how much dearer a
// unit becomes. About 1 is linear; a part that grows with the square would show 10 and 100.
//
//   npm run bench -- growth [part]

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Type } from "@sinclair/typebox";
import { median, printTable } from "./support.mjs";

const ROUNDS = 5;
const STEPS = [1, 10, 100];

/** `unit` of each part once; `prepare(count)` gives a function to be timed, which returns what is to be kept in memory. */
const parts = {
  register: { what: "register operations", once: 100, prepare: registering },
  registerAndCall: { what: "register operations and call each once", once: 20, prepare: calling },
  buildEnv: { what: "buildEnv and use each operation", once: 100, prepare: building },
  fromSchema: { what: "FromSchema, properties of an object", once: 20, prepare: converting },
  check: { what: "execute, items of an array in the input", once: 100, prepare: checking },
  scanner: { what: "scanOperations, files of a folder", once: 5, prepare: scanning },
  importing: { what: "FromOpenAPI, operations of a document", once: 20, prepare: importing },
  pending: { what: "pending calls", once: 100, prepare: pending },
  catalogue: { what: "index a catalogue", once: 20, prepare: indexing },
  mcpTools: { what: "connect to an MCP server, tools that it lists", once: 10, prepare: connecting },
};

const [mode, name, count] = process.argv.slice(2);
if (mode === "--one") await one(parts[name], Number(count));
else compare(mode === undefined ? Object.keys(parts) : [mode]);

async function one({ prepare }, size) {
  // What is loaded and compiled once does not grow.
  const warmUp = await prepare(1);
  await warmUp.run();
  await warmUp.stop?.();
  const { run, stop } = await prepare(size);
  for (let i = 0; i < 3; i++) globalThis.gc();
  const before = process.memoryUsage().rss;
  const start = performance.now();
  const kept = await run();
  const milliseconds = performance.now() - start;
  for (let i = 0; i < 3; i++) globalThis.gc();
  const bytes = process.memoryUsage().rss - before;
  if (kept === undefined) throw new Error("nothing is kept");
  await stop?.();
  console.log(JSON.stringify({ milliseconds, bytes }));
  process.exit(0);
}

function compare(names) {
  const rows = [];
  for (const part of names) {
    const { what, once } = parts[part];
    const perUnit = STEPS.map((step) => {
      const runs = Array.from({ length: ROUNDS }, () => inChild(part, once * step));
      const typical = (field) => median(runs.map((run) => run[field])) / (once * step);
      return { microseconds: 1000 * typical("milliseconds"), bytes: typical("bytes") };
    });
    const [first] = perUnit;
    rows.push([
      `${what}, from ${once}`,
      ...perUnit.map(({ microseconds }) => microseconds.toFixed(1)),
      ...perUnit.slice(1).map(({ microseconds }) => (microseconds / first.microseconds).toFixed(2)),
      (perUnit.at(-1).bytes / 1024).toFixed(1),
    ]);
  }
  printTable(
    ["", "us each, 1x", "10x", "100x", "growth to 10x", "to 100x", "KiB resident each at 100x"],
    rows,
  );
}

function inChild(part, size) {
  const args = ["--expose-gc", fileURLToPath(import.meta.url), "--one", part, String(size)];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }));
}

function operation(index) {
  return {
    namespace: "growth",
    name: `op${index}`,
    version: "1.0.0",
    type: "query",
    description: `Looks up record number ${index}`,
    inputSchema: Type.Object({ id: Type.Integer(), [`field${index}`]: Type.Optional(Type.String()) }),
    outputSchema: Type.Object({ id: Type.Integer() }),
    accessControl: { requiredScopes: [] },
    handler: ({ id }) => ({ id }),
  };
}

function operations(size) {
  return Array.from({ length: size }, (_, index) => operation(index));
}

async function registryOf(list) {
  const { OperationRegistry } = await import("@alkdev/operations");
  const registry = new OperationRegistry();
  registry.registerAll(list);
  return registry;
}

function registering(size) {
  const list = operations(size);
  return { run: () => registryOf(list) };
}

async function calling(size) {
  const list = operations(size);
  return {
    async run() {
      const registry = await registryOf(list);
      for (let id = 0; id < size; id++) await registry.execute(`growth.op${id}`, { id }, {});
      return registry;
    },
  };
}

async function building(size) {
  const { buildEnv } = await import("@alkdev/operations");
  const registry = await registryOf(operations(size));
  return {
    async run() {
      const env = buildEnv({ registry, context: {} });
      for (let id = 0; id < size; id++) await env.growth[`op${id}`]({ id });
      return env;
    },
  };
}

async function converting(size) {
  const { FromSchema } = await import("@alkdev/operations");
  const properties = Object.fromEntries(
    Array.from({ length: size }, (_, index) => [
      `p${index}`,
      { type: "object", properties: { text: { type: "string", minLength: 1 }, at: { type: "integer" } } },
    ]),
  );
  return { run: () => FromSchema({ type: "object", properties }) };
}

async function checking(size) {
  const items = Type.Array(Type.Object({ id: Type.Integer(), name: Type.String() }));
  const registry = await registryOf([
    {
      ...operation(0),
      inputSchema: Type.Object({ items }),
      handler: (input) => ({ id: input.items.length }),
    },
  ]);
  const input = { items: Array.from({ length: size }, (_, id) => ({ id, name: `item ${id}` })) };
  return { run: () => registry.execute("growth.op0", input, {}) };
}

async function scanning(size) {
  const { scanOperations } = await import("@alkdev/operations");
  const folder = mkdtempSync(join(tmpdir(), "operations-growth-"));
  for (let index = 0; index < size; index++) {
    const { inputSchema: _in, outputSchema: _out, handler: _handler, ...spec } = operation(index);
    const text = `export default { ...${JSON.stringify(spec)}, inputSchema: { type: "object" }, outputSchema: {}, handler: () => 1 };\n`;
    writeFileSync(join(folder, `op${index}.mjs`), text);
  }
  return {
    async run() {
      const found = await scanOperations(folder, {
        async *readdir(path) {
          for (const entry of readdirSync(path, { withFileTypes: true })) {
            yield { name: entry.name, isFile: entry.isFile(), isDirectory: entry.isDirectory() };
          }
        },
        cwd: () => folder,
      });
      if (found.length !== size) throw new Error(`${found.length} of ${size} files were found`);
      return found;
    },
    stop: () => rmSync(folder, { recursive: true }),
  };
}

async function importing(size) {
  const { FromOpenAPI } = await import("@alkdev/operations");
  const paths = Object.fromEntries(
    Array.from({ length: size }, (_, index) => [
      `/records/${index}/{id}`,
      {
        get: {
          operationId: `get${index}`,
          parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
          responses: {
            200: {
              description: "",
              content: { "application/json": { schema: { $ref: "#/components/schemas/R" } } },
            },
          },
        },
      },
    ]),
  );
  const schema = {
    type: "object",
    properties: {
      id: { type: "string" },
      children: { type: "array", items: { $ref: "#/components/schemas/R" } },
    },
  };
  const text = JSON.stringify({
    ...{ openapi: "3.1.0", info: { title: "growth", version: "1" } },
    ...{ paths, components: { schemas: { R: schema } } },
  });
  return { run: () => FromOpenAPI(text, { namespace: "growth", baseUrl: "http://localhost" }) };
}

async function pending(size) {
  const { buildCallHandler, PendingRequestMap } = await import("@alkdev/operations");
  const registry = await registryOf([{ ...operation(0), handler: () => new Promise(() => {}) }]);
  const callMap = new PendingRequestMap();
  callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
  return {
    async run() {
      const calls = Array.from({ length: size }, (_, id) => callMap.call("growth.op0", { id }));
      for (const call of calls) call.catch(() => {});
      await new Promise(setImmediate);
      return calls;
    },
  };
}

async function indexing(size) {
  const { catalogue } = await import("@alkdev/operations/tools");
  const registry = await registryOf(operations(size));
  return {
    run() {
      const known = catalogue(registry);
      known.search("record");
      return known;
    },
  };
}

async function connecting(size) {
  const { closeMCPClient, createMCPClient } = await import("@alkdev/operations");
  const program = fileURLToPath(new URL("./mcp-server.mjs", import.meta.url));
  let wrapper;
  return {
    async run() {
      wrapper = await createMCPClient("growth", {
        command: process.execPath,
        args: [program, "0", String(size)],
      });
      if (wrapper.tools.length !== size + 2) throw new Error(`${wrapper.tools.length} tools are listed`);
      return wrapper;
    },
    stop: () => closeMCPClient(wrapper),
  };
}
