// Code mode: a program that a model wrote runs in a sandbox, and waits for a person where it must.

import { OperationRegistry } from "@alkdev/operations";
import { createCodeRunner } from "@alkdev/operations/code";
import { Type } from "@sinclair/typebox";
import { say, show } from "./show.mjs";

const tasks = [
  { id: 1, title: "Water the plants", done: true },
  { id: 2, title: "Post the letter", done: false },
];
const registry = new OperationRegistry();
const Task = Type.Object({ id: Type.Integer(), title: Type.String(), done: Type.Boolean() });
const shared = { namespace: "tasks", version: "1.0.0", accessControl: { requiredScopes: [] } };
registry.register({
  ...shared,
  name: "list",
  type: "query",
  description: "All tasks",
  inputSchema: Type.Object({}),
  outputSchema: Type.Array(Task),
  handler: () => tasks,
});
registry.register({
  ...shared,
  name: "remove",
  type: "mutation",
  description: "Removes a task",
  // A person has to agree.
  approval: "always",
  inputSchema: Type.Object({ id: Type.Integer() }),
  outputSchema: Type.Integer(),
  handler: ({ id }) => {
    tasks.splice(
      tasks.findIndex((task) => task.id === id),
      1,
    );
    return tasks.length;
  },
});

export default async function code() {
  const runner = createCodeRunner(registry, { limits: { cpu: 10_000 } });
  const ada = { id: "ada", scopes: [] };

  say("A program calls operations; what is in between does not leave it:");
  const counted = await runner.run(
    "const all = await tasks.list({}); return all.filter((task) => task.done).length",
  );
  show("the program's value", counted.data);
  show(
    "its calls",
    counted.calls.map(({ operationId, status }) => `${operationId} ${status}`),
  );

  say("It has no more than the operations, and a limit ends it:");
  show("typeof process", (await runner.run("return typeof process")).data);
  const hint = await runner.run("return await tasks.lst({})");
  show(hint.error.code, hint.error.message);
  const greedy = await runner.run("for (;;) await tasks.list({})");
  show(greedy.error.code, greedy.error.message);

  say("A call that needs an approval makes the run wait. It goes on where it stood:");
  const run = await runner.run(
    "const done = (await tasks.list({})).filter((task) => task.done); return { left: await tasks.remove({ id: done[0].id }) }",
    { identity: ada },
  );
  show(
    `the run is ${run.status}`,
    `${run.approvals[0].operationId} ${JSON.stringify(run.approvals[0].input)}`,
  );
  await registry.approvals.decide(run.approvals[0].id, { approve: true, by: { id: "bob", scopes: [] } });
  const { status, data } = await runner.resume(run.id);
  show(`the run is ${status}`, data);

  await runner.close();
}
