// Runs in a page and in a worker of that page, bundled as a user's program would be. Each check throws where something is
// not as it should be.

import {
  CallError,
  checkAccess,
  createPortEventTarget,
  createRegistry,
  defineOperation,
  FromOpenAPI,
  FromSchema,
  mapError,
  PendingRequestMap,
  parseSSEFrames,
  unwrap,
} from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { Type } from "@sinclair/typebox";

function equal(actual, expected) {
  const [one, other] = [actual, expected].map((value) => JSON.stringify(value));
  if (one !== other) throw new Error(`${one} instead of ${other}`);
}

async function failure(work) {
  try {
    await work();
  } catch (error) {
    if (error instanceof CallError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

const greet = defineOperation({
  namespace: "page",
  name: "greet",
  version: "1.0.0",
  type: "query",
  description: "greets",
  inputSchema: Type.Object({ name: Type.String() }),
  outputSchema: Type.Object({ greeting: Type.String() }),
  accessControl: { requiredScopes: [] },
  handler: ({ name }) => ({ greeting: `Hello ${name}`, more: "is removed" }),
});

const secret = defineOperation({ ...greet, name: "secret", accessControl: { requiredScopes: ["admin"] } });

const checks = {
  async "a registry checks inputs and shapes outputs"() {
    const registry = createRegistry([greet]);
    equal(unwrap(await registry.execute("page.greet", { name: "Ada" })), { greeting: "Hello Ada" });
    const error = await failure(() => registry.execute("page.greet", { name: 7 }));
    equal(
      [error.code, error.details.errors],
      ["VALIDATION_ERROR", [{ path: "/name", message: "Expected string" }]],
    );
  },
  async "access rules hold"() {
    const registry = createRegistry([secret]);
    const { code } = await failure(() => registry.execute("page.secret", { name: "Ada" }));
    equal(code, "ACCESS_DENIED");
    equal(checkAccess({ requiredScopes: ["a"] }, { id: "ada", scopes: ["a"] }).allowed ?? true, true);
  },
  "JSON Schemas are schemas"() {
    const schema = FromSchema({ type: "object", properties: { n: { type: "integer" } }, required: ["n"] });
    const registry = createRegistry([
      { ...greet, inputSchema: schema, handler: ({ n }) => ({ greeting: String(n) }) },
    ]);
    return registry.execute("page.greet", { n: 1 });
  },
  "server-sent events are read"() {
    equal(parseSSEFrames("event: tick\r\ndata: 1\r\n\r\ndata: 2").remaining, "data: 2");
  },
  "errors keep their codes"() {
    equal(mapError(new Error("GONE: no more"), [{ code: "GONE" }]).code, "GONE");
  },
  async "what needs native code says so"() {
    for (const work of [() => FromOpenAPI({}, {}), () => serve({})]) {
      const { message } = await failure(work);
      if (!message.includes("is not available here, because it runs in native code"))
        throw new Error(message);
    }
  },
  async "calls and streams cross to a worker and back"() {
    const worker = new Worker("/worker.js", { type: "module" });
    const calls = new PendingRequestMap(createPortEventTarget(worker));
    equal(unwrap(await calls.call("worker.double", { n: 21 })), { n: 42 });
    const values = [];
    for await (const envelope of calls.subscribe("worker.count", { to: 3 })) values.push(unwrap(envelope));
    equal(values, [1, 2, 3]);
    const bytes = unwrap(await calls.call("worker.bytes", {}));
    equal([bytes instanceof Uint8Array, [...bytes]], [true, [0, 127, 255]]);
    const denied = await failure(() => calls.call("worker.secret", {}));
    equal(denied.code, "ACCESS_DENIED");
    const late = await failure(() => calls.call("worker.sleep", {}, { deadline: Date.now() + 30 }));
    equal(late.code, "TIMEOUT");
    equal(calls.getPendingCount(), 0);
    worker.terminate();
  },
};

async function run() {
  const results = [];
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check();
      results.push({ name, problem: null });
    } catch (error) {
      results.push({ name, problem: String(error?.stack ?? error) });
    }
  }
  return results;
}

globalThis.finished = run();
