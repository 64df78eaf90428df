// A registry for programs. `pay.send` needs an approval: without one it rejects as a call does that waits for a person.

import { appendFileSync } from "node:fs";
import { CallError, OperationRegistry } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";

/** `effects` is the file of side effects. `point` is called wherever a host may die. */
export function programs({ effects, point = () => {} } = {}) {
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
  const effect = async (line) => {
    point();
    if (effects !== undefined) appendFileSync(effects, `${line}\n`);
    point();
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
    point();
  };
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
    await effect(`do ${key}`);
    return `done ${key}`;
  });
  add("broken", "do", async ({ key }) => {
    await effect(`fail ${key}`);
    throw new CallError("NOT_TODAY", "It always fails");
  });
  add("pay", "send", async ({ key }, context) => {
    point();
    if (context.approval !== `for-${key}`) {
      throw new CallError("APPROVAL_REQUIRED", "Ask first", {
        approval: { id: `for-${key}`, operationId: "pay.send" },
      });
    }
    await effect(`send ${key}`);
    return `sent ${key}`;
  });
  return registry;
}
