// A hub: local operations, tools of an MCP server, the operations of an OpenAPI document, and whatever programs offer that
// connect. crates/operations/examples/hub.rs is the same hub in Rust, and a test compares their answers.
//
//   node examples/hub.mjs [script of an MCP server] [URL of a document]

import { CallError, OperationRegistry } from "@alkdev/operations";
import { createMCPClient } from "@alkdev/operations/from-mcp";
import { FromOpenAPIUrl } from "@alkdev/operations/from-openapi";
import { serve } from "@alkdev/operations/serve";
import { Type } from "@sinclair/typebox";

const [, , script, document] = process.argv;

const number = Type.Integer({ format: "uint32", minimum: 0 });
const task = Type.Object({ id: number, title: Type.String() });
const tasks = [];

const registry = new OperationRegistry();
const base = { namespace: "tasks", version: "1.0.0", accessControl: { requiredScopes: [] } };
registry.register({
  ...base,
  name: "add",
  type: "mutation",
  description: "Adds a task",
  inputSchema: Type.Object({ title: Type.String({ minLength: 1 }) }),
  outputSchema: task,
  accessControl: { requiredScopes: ["tasks:write"] },
  handler({ title }) {
    const added = { id: tasks.length + 1, title };
    tasks.push(added);
    return added;
  },
});
registry.register({
  ...base,
  name: "get",
  type: "query",
  description: "A task by its number",
  inputSchema: Type.Object({ id: number }),
  outputSchema: task,
  errorSchemas: [{ code: "TASK_NOT_FOUND", httpStatus: 404 }],
  handler({ id }) {
    const found = tasks.find((each) => each.id === id);
    if (found === undefined) throw new CallError("TASK_NOT_FOUND", `There is no task ${id}`);
    return found;
  },
});
registry.register({
  ...base,
  name: "fail",
  type: "query",
  description: "Fails in a way that callers should not read",
  inputSchema: Type.Object({ to: number }),
  outputSchema: task,
  handler() {
    throw new Error("the password is hunter2");
  },
});
registry.register({
  ...base,
  name: "count",
  type: "subscription",
  description: "Counts",
  inputSchema: Type.Object({ to: number }),
  outputSchema: number,
  async *handler({ to }) {
    for (let count = 1; count <= to; count += 1) yield count;
  },
});

const notes = script && (await createMCPClient("notes", { command: process.execPath, args: [script] }));
if (notes) registry.registerAll(notes.tools);
if (document) registry.registerAll(await FromOpenAPIUrl(document, { namespace: "shop" }));

const served = await serve(registry, {
  doors: {
    http: true,
    mcp: { name: "hub", version: "1.0.0" },
    hub: { accept: ({ name }) => ({ namespace: name }) },
  },
  tokens: {
    "ada-token": { id: "ada", scopes: ["tasks:write"] },
    "bob-token": { id: "bob", scopes: [] },
  },
  anonymous: true,
});
console.log(served.url);

process.once("SIGINT", async () => {
  await served.close();
  if (notes) await notes.close();
});
