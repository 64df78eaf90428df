// A registry for programs. `pay.send` needs an approval: without one it rejects as a call does that waits for a person.

import { appendFileSync } from "node:fs";
import { CallError, OperationRegistry } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";

export function programs({ effects } = {}) {
  const registry = new OperationRegistry();
  const add = (namespace, name, handler, more = {}) =>
    registry.register({
      namespace,
      name,
      version: "1.0.0",
      type: "query",
      description: `Does ${name}`,
      inputSchema: Type.Any(),
      outputSchema: Type.Any(),
      accessControl: { requiredScopes: [] },
      handler,
      ...more,
    });
  const effect = (line) => effects !== undefined && appendFileSync(effects, `${line}\n`);
  add("demo", "double", ({ n }) => n * 2);
  add("demo", "echo", (input) => input ?? null);
  add("demo", "fail", () => {
    throw new Error("the password is hunter2");
  });
  add("demo", "context", (_, { identity, trusted, parentRequestId, signal }) => ({
    id: identity?.id ?? null,
    trusted: trusted ?? null,
    hasParent: typeof parentRequestId === "string",
    hasSignal: signal !== undefined,
  }));
  add(
    "demo",
    "never",
    (_, { signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted")))),
  );
  add(
    "demo",
    "ticks",
    async function* ({ to }) {
      for (let i = 1; i <= to; i++) yield i;
    },
    { type: "subscription" },
  );
  add("demo", "secret", () => "internal", { visibility: "internal" });
  add("admin", "wipe", () => "wiped", { accessControl: { requiredScopes: ["admin"] } });
  add("JSON", "parse", () => "ours");
  add("work", "do", async ({ key }) => {
    effect(`do ${key}`);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
    return `done ${key}`;
  });
  add("pay", "send", async ({ key }, context) => {
    if (context.approval !== `for-${key}`) {
      throw new CallError("APPROVAL_REQUIRED", "Ask first", {
        approval: { id: `for-${key}`, operationId: "pay.send" },
      });
    }
    effect(`send ${key}`);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
    return `sent ${key}`;
  });
  return registry;
}
