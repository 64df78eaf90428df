// Define, register, execute, stream, compose: the registry at work.

import { buildEnv, OperationRegistry, OperationType, subscribe, unwrap } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { say, show } from "./show.mjs";

const Task = Type.Object({
  id: Type.Integer(),
  title: Type.String(),
  done: Type.Boolean({ default: false }),
});
const open = { requiredScopes: [] };
const tasks = [];
let cleanups = 0;

const operations = [
  {
    namespace: "tasks",
    name: "create",
    version: "1.0.0",
    type: OperationType.MUTATION,
    description: "Creates a task",
    inputSchema: Type.Object({ title: Type.String({ minLength: 1 }) }),
    outputSchema: Task,
    accessControl: open,
    // `done` is missing and `internal` is not declared: the caller gets what the schema says.
    handler: ({ title }) => {
      const task = { id: tasks.length + 1, title, internal: "not for callers" };
      tasks.push(task);
      return task;
    },
  },
  {
    namespace: "tasks",
    name: "clear",
    version: "1.0.0",
    type: OperationType.MUTATION,
    description: "Deletes every task",
    inputSchema: Type.Object({}),
    outputSchema: Type.Null(),
    accessControl: { requiredScopes: ["tasks:admin"] },
    handler: () => null,
  },
  {
    namespace: "tasks",
    name: "progress",
    version: "1.0.0",
    type: OperationType.SUBSCRIPTION,
    description: "Watches a task",
    inputSchema: Type.Object({ id: Type.Integer() }),
    outputSchema: Type.Object({ percent: Type.Integer() }),
    accessControl: open,
    handler: async function* () {
      try {
        for (let percent = 25; ; percent += 25) yield { percent };
      } finally {
        cleanups += 1;
      }
    },
  },
  {
    namespace: "reports",
    name: "summary",
    version: "1.0.0",
    type: OperationType.QUERY,
    description: "Counts tasks, by calling another operation",
    inputSchema: Type.Object({}),
    outputSchema: Type.Object({ open: Type.Integer(), first: Type.String() }),
    accessControl: open,
    handler: async (_, context) => {
      const created = unwrap(await context.env.tasks.create({ title: "Read the summary" }));
      return { open: created.id, first: tasks[0].title };
    },
  },
];

export default async function registry() {
  const registry = new OperationRegistry();
  registry.registerAll(operations);

  say("Whatever a handler returns arrives in the declared shape:");
  const created = unwrap(await registry.execute("tasks.create", { title: "Water the plants" }, {}));
  show("tasks.create", created);
  show("undeclared property is gone", !("internal" in created));

  say("Wrong input and missing rights never reach a handler:");
  for (const [id, input] of [
    ["tasks.create", { title: "" }],
    ["tasks.clear", {}],
  ]) {
    await registry.execute(id, input, { identity: { id: "ada", scopes: [] } }).catch(({ code, message }) => {
      show(code, message.split("\n")[0]);
    });
  }

  say("A subscription is an async generator; leaving it runs the handler's cleanup:");
  for await (const envelope of subscribe(registry, "tasks.progress", { id: 1 }, {})) {
    const { percent } = unwrap(envelope);
    show("progress", `${percent} %`);
    if (percent === 100) break;
  }
  show("cleanup ran", `${cleanups} time`);

  say("Handlers call other operations through their environment:");
  const context = { requestId: "tour" };
  context.env = buildEnv({ registry, context });
  show("reports.summary", unwrap(await registry.execute("reports.summary", {}, context)));
}
