// A registry that is dropped is collected, with everything it holds. In a process of its own, because only
// there the collector can be called.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runNode } from "../support/run-node.mjs";

const PRELUDE = `
  import { buildEnv, OperationRegistry, subscribe } from "@alkdev/operations";
  import { Type } from "@sinclair/typebox";

  const pause = () => new Promise((resolve) => setTimeout(resolve, 5));
  const spec = (name, changes) => ({
    name, namespace: "gone", version: "1", type: "query", description: "",
    inputSchema: Type.Object({ a: Type.Number() }), outputSchema: Type.Object({ a: Type.Number() }),
    accessControl: { requiredScopes: [] }, handler: (input) => input, ...changes,
  });

  /** Waits until nothing of it is left. */
  async function gone(references) {
    for (let i = 0; i < 100; i++) {
      await pause();
      global.gc();
      if (references.every((reference) => reference.deref() === undefined)) return true;
    }
    return false;
  }
`;

/** Runs module source with the collector at hand, and returns what it printed as JSON. */
async function run(source) {
  const { code, stdout, stderr } = await runNode(
    ["--expose-gc", "--input-type=module", "--eval", PRELUDE + source],
    { cwd: new URL(".", import.meta.url), timeout: 60_000 },
  );
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

describe("a registry that is dropped is collected", () => {
  it("a dropped registry is collected after registration and calls, with its handlers and schemas", async () => {
    const outcome = await run(`
      async function use() {
        const registry = new OperationRegistry();
        const operation = spec("op");
        registry.register(operation);
        for (let i = 0; i < 500; i++) await registry.execute("gone.op", { a: i, b: 1 });
        await registry.execute("gone.op", { a: "wrong" }).catch(() => {});
        return [registry, operation.handler, operation.inputSchema, operation.outputSchema].map((each) => new WeakRef(each));
      }
      const references = await use();
      console.log(JSON.stringify(await gone(references)));
    `);
    assert.equal(outcome, true);
  });

  it("a dropped registry is collected after subscriptions that completed, were broken off or never started", async () => {
    const outcome = await run(`
      async function use() {
        const registry = new OperationRegistry();
        registry.register(spec("feed", {
          type: "subscription",
          handler: async function* () { for (let i = 0; i < 5; i++) yield { a: i }; },
        }));
        for await (const _ of subscribe(registry, "gone.feed", { a: 1 }, {}));
        for await (const _ of subscribe(registry, "gone.feed", { a: 1 }, {})) break;
        const left = subscribe(registry, "gone.feed", { a: 1 }, {});
        await left.next();
        subscribe(registry, "gone.feed", { a: 1 }, {});
        return [new WeakRef(registry), new WeakRef(left)];
      }
      const references = await use();
      console.log(JSON.stringify(await gone(references)));
    `);
    assert.equal(outcome, true);
  });

  it("a dropped registry is collected although its environment, its context and its handlers refer to it", async () => {
    const outcome = await run(`
      async function use() {
        const registry = new OperationRegistry({ customAuth: { ask: () => registry !== undefined } });
        registry.register(spec("op", { handler: (input) => (registry ? input : undefined) }));
        const context = { registry };
        context.env = buildEnv({ registry, context });
        await context.env.gone.op({ a: 1 });
        return [new WeakRef(registry), new WeakRef(context), new WeakRef(context.env)];
      }
      const references = await use();
      console.log(JSON.stringify(await gone(references)));
    `);
    assert.equal(outcome, true);
  });

  it("a dropped registry is collected while a schema that it shared with another lives on", async () => {
    const outcome = await run(`
      const shared = Type.Object({ a: Type.Number() });
      async function use(name) {
        const registry = new OperationRegistry();
        registry.register(spec(name, { inputSchema: shared, outputSchema: shared }));
        await registry.execute("gone." + name, { a: 1 });
        return registry;
      }
      const kept = await use("kept");
      const references = [new WeakRef(await use("dropped"))];
      const collected = await gone(references);
      console.log(JSON.stringify([collected, (await kept.execute("gone.kept", { a: 1 })).data]));
    `);
    assert.deepEqual(outcome, [true, { a: 1 }]);
  });

  it("an operation that was overwritten lets its old handler and schemas go", async () => {
    const outcome = await run(`
      const registry = new OperationRegistry();
      async function use() {
        const old = spec("op");
        registry.register(old);
        await registry.execute("gone.op", { a: 1 });
        registry.register(spec("op"));
        return [old.handler, old.inputSchema, old.outputSchema].map((each) => new WeakRef(each));
      }
      const references = await use();
      const collected = await gone(references);
      console.log(JSON.stringify([collected, registry.list().length]));
    `);
    assert.deepEqual(outcome, [true, 1]);
  });
});
