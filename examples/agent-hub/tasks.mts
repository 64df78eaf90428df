// Operations of our own: one with TypeBox schemas, one with Zod's. What they take and return is known to the compiler.

import { CallError, defineOperation, OperationType } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { z } from "zod";

const tasks = [{ id: 1, title: "Feed Ada" }];

export const listTasks = defineOperation({
  namespace: "tasks",
  name: "list",
  version: "1.0.0",
  type: OperationType.QUERY,
  description: "The tasks that are open, or those with a word in their title",
  inputSchema: Type.Object({ word: Type.Optional(Type.String()) }),
  outputSchema: Type.Object({ tasks: Type.Array(Type.Object({ id: Type.Integer(), title: Type.String() })) }),
  accessControl: { requiredScopes: [] },
  handler: async ({ word = "" }) => ({ tasks: tasks.filter(({ title }) => title.includes(word)) }),
});

export const addTask = defineOperation({
  namespace: "tasks",
  name: "add",
  version: "1.0.0",
  type: OperationType.MUTATION,
  description: "Adds a task",
  inputSchema: z.object({ title: z.string().trim().min(1) }),
  outputSchema: z.object({ id: z.int(), by: z.string() }),
  // Not for everybody.
  accessControl: { requiredScopes: ["tasks:write"] },
  errorSchemas: [{ code: "TOO_MANY_TASKS", httpStatus: 409 }],
  handler: async ({ title }, { identity }) => {
    if (tasks.length === 100) throw new CallError("TOO_MANY_TASKS", "There are 100 tasks. Finish one first");
    tasks.push({ id: tasks.length + 1, title });
    return { id: tasks.length, by: identity?.id ?? "anonymous" };
  },
});
