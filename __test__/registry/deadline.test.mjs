// `context.deadline` in `execute` and `subscribe`, for every source.

import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import {
  buildCallHandler,
  buildEnv,
  CallError,
  FromOpenAPI,
  isTimeout,
  OperationRegistry,
  PendingRequestMap,
} from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { z } from "zod";
import { answers, documentOf, serve, until } from "../http/support.mjs";
import { connected, failure, stdio } from "../mcp/support/servers.mjs";
import { runModule } from "../support/run-node.mjs";
import { callError, idOf, operation, registered, rejection, subscription } from "./support/operations.mjs";

const soon = (ms = 200) => Date.now() + ms;
const never = () => new Promise(() => {});

/** Resolves when the signal is aborted, with its reason. */
async function end(signal) {
  if (!signal.aborted) await once(signal, "abort");
  return signal.reason;
}

function assertLate(error, id, deadline) {
  assert.ok(error instanceof CallError);
  assert.equal(error.code, "TIMEOUT");
  assert.match(
    error.message,
    new RegExp(
      `^The call of ${id.replace(".", "\\.")} timed out after \\d+ ms: its deadline was ${deadline}$`,
    ),
  );
  assert.equal(error.details.deadline, deadline);
  assert.ok(isTimeout(error));
}

describe("a call with a deadline", () => {
  it("a call whose deadline passes fails with TIMEOUT, and the handler's signal is aborted with the same error", async () => {
    let signal;
    const { execute, id } = registered({
      handler: (_, context) => {
        signal = context.signal;
        return never();
      },
    });
    const deadline = soon();
    const { thrown } = await rejection(execute({}, { deadline }));
    assertLate(thrown, id, deadline);
    assert.equal(signal.aborted, true);
    assert.equal(signal.reason, thrown);
  });

  it("a call whose deadline is past does not call the handler", async () => {
    let called = 0;
    const { execute, id } = registered({ handler: () => ++called });
    const deadline = Date.now() - 1;
    const { thrown } = await rejection(execute({}, { deadline }));
    assert.equal(thrown.code, "TIMEOUT");
    assert.equal(thrown.message, `The call of ${id} timed out before it began: its deadline was ${deadline}`);
    assert.deepEqual(thrown.details, { deadline });
    assert.equal(called, 0);
  });

  it("a deadline is checked after access and input", async () => {
    const registry = new OperationRegistry();
    const spec = operation({ inputSchema: Type.Number(), accessControl: { requiredScopes: ["a"] } });
    registry.register(spec);
    const deadline = Date.now() - 1;
    const identity = { id: "u", scopes: ["a"] };
    await assert.rejects(registry.execute("no.such", 1, { deadline }), callError("OPERATION_NOT_FOUND"));
    await assert.rejects(registry.execute(idOf(spec), 1, { deadline }), callError("ACCESS_DENIED"));
    await assert.rejects(
      registry.execute(idOf(spec), "1", { deadline, identity }),
      callError("VALIDATION_ERROR", "Expected number"),
    );
    await assert.rejects(registry.execute(idOf(spec), 1, { deadline, identity }), callError("TIMEOUT"));
  });

  for (const deadline of [5_000, 0, -1, Number.NaN, 9_999_999_999, "2030-01-01", null]) {
    it(`a deadline that is not a time (${String(deadline)}) is refused with what to write`, async () => {
      let called = 0;
      const { execute, registry } = registered({ handler: () => ++called });
      await assert.rejects(
        execute({}, { deadline }),
        callError("VALIDATION_ERROR", "use Date.now() + ms", String(deadline)),
      );
      const stream = subscription();
      registry.register(stream);
      await assert.rejects(
        registry.subscribe(idOf(stream), [], { deadline }).next(),
        callError("VALIDATION_ERROR", "Date.now() + ms"),
      );
      assert.equal(called, 0);
    });
  }

  it("a deadline that does not pass changes nothing, and leaves no timer", async () => {
    const { code, stdout, stderr } = await runModule(`
      import { OperationRegistry } from "@alkdev/operations";
      import { Type } from "@sinclair/typebox";
      const registry = new OperationRegistry();
      registry.register({ name: "a", namespace: "t", version: "1", type: "query", description: "", inputSchema: Type.Unknown(),
        outputSchema: Type.Unknown(), accessControl: { requiredScopes: [] }, handler: (input) => input });
      for (const deadline of [Date.now() + 3_600_000, Number.POSITIVE_INFINITY]) {
        console.log((await registry.execute("t.a", "fine", { deadline })).data);
      }
    `);
    assert.deepEqual({ code, stdout: stdout.trim(), stderr }, { code: 0, stdout: "fine\nfine", stderr: "" });
  });

  it("a call with a deadline keeps the process alive until it is settled", async () => {
    const { stdout } = await runModule(`
      import { OperationRegistry } from "@alkdev/operations";
      import { Type } from "@sinclair/typebox";
      const registry = new OperationRegistry();
      registry.register({ name: "a", namespace: "t", version: "1", type: "query", description: "", inputSchema: Type.Unknown(),
        outputSchema: Type.Unknown(), accessControl: { requiredScopes: [] }, handler: () => new Promise(() => {}) });
      await registry.execute("t.a", 0, { deadline: Date.now() + 50 }).catch((error) => console.log(error.code));
    `);
    assert.equal(stdout.trim(), "TIMEOUT");
  });

  it("a deadline passes on the caller's signal, its reason, and everything else in the context", async () => {
    class Mine {
      identity = { id: "u", scopes: [] };
      tenant = "t1";
      deadline = soon(60_000);
      get lazy() {
        return "asked";
      }
    }
    const context = new Mine();
    const controller = new AbortController();
    context.signal = controller.signal;
    let seen;
    const { execute } = registered({
      handler: async (_, given) => {
        seen = given;
        throw await end(given.signal);
      },
    });
    const pending = rejection(execute({}, context));
    const why = new Error("the user left");
    controller.abort(why);
    assert.equal((await pending).thrown, why);
    assert.ok(seen instanceof Mine);
    assert.equal(seen.identity, context.identity);
    assert.deepEqual([seen.tenant, seen.lazy, seen.deadline], ["t1", "asked", context.deadline]);
    assert.equal(context.signal, controller.signal, "the caller's context is left alone");
  });

  it("what a handler throws before the deadline reaches the caller untouched, also a TIMEOUT of its own", async () => {
    for (const error of [
      new Error("mine"),
      new CallError("TIMEOUT", "mine", { mine: 1 }),
      "text",
      undefined,
    ]) {
      const { execute } = registered({
        handler: () => {
          throw error;
        },
      });
      assert.equal((await rejection(execute({}, { deadline: soon(60_000) }))).thrown, error);
    }
  });

  it("what a handler throws after its deadline is no unhandled rejection", async () => {
    const { execute } = registered({
      handler: async (_, { signal }) => {
        await end(signal);
        throw new Error("too late");
      },
    });
    await assert.rejects(execute({}, { deadline: soon() }), callError("TIMEOUT"));
    await new Promise(setImmediate);
  });

  it("a deadline counts while a customAuth rule or a schema's own check is awaited", async () => {
    const slow = registered(
      { accessControl: { requiredScopes: [], customAuth: "ask" } },
      { customAuth: { ask: never } },
    );
    await assert.rejects(slow.execute({}, { deadline: soon() }), callError("TIMEOUT", slow.id));
    const own = registered({ inputSchema: z.string().refine(never) });
    await assert.rejects(own.execute("x", { deadline: soon() }), callError("TIMEOUT", own.id));
  });

  it("a deadline is inherited by the calls that a handler makes through its environment", async () => {
    const seen = [];
    const registry = new OperationRegistry();
    registry.register(
      operation({
        namespace: "inner",
        name: "wait",
        handler: async (_, context) => {
          seen.push(context.deadline);
          await end(context.signal);
        },
      }),
    );
    registry.register(
      operation({ namespace: "outer", name: "call", handler: (_, { env }) => env.inner.wait({}) }),
    );
    const deadline = soon();
    const context = { deadline };
    context.env = buildEnv({ registry, context });
    await assert.rejects(registry.execute("outer.call", {}, context), callError("TIMEOUT"));
    assert.deepEqual(seen, [deadline]);
  });
});

describe("a stream with a deadline", () => {
  it("a stream whose deadline passes fails with TIMEOUT, its signal is aborted, and its finally runs once", async () => {
    let ended = 0;
    let signal;
    const { registry, id } = registered({
      type: "subscription",
      async *handler(_, context) {
        signal = context.signal;
        try {
          yield 1;
          await end(signal);
        } finally {
          ended += 1;
        }
      },
    });
    const deadline = soon();
    const stream = registry.subscribe(id, {}, { deadline });
    assert.equal((await stream.next()).value.data, 1);
    const { thrown } = await rejection(stream.next());
    assertLate(thrown, id, deadline);
    assert.equal(signal.reason, thrown);
    assert.deepEqual(await stream.next(), { done: true, value: undefined });
    await stream.return();
    assert.equal(ended, 1);
  });

  it("a consumer that returns after the deadline of its stream gets TIMEOUT", async () => {
    const { registry, id } = registered({ type: "subscription" });
    const deadline = soon();
    const stream = registry.subscribe(id, [1, 2, 3], { deadline });
    await stream.next();
    while (Date.now() <= deadline + 5) await new Promise((resolve) => setTimeout(resolve, 10));
    // On a busy machine this timer and that of the deadline are due in one turn of the event loop.
    await new Promise(setImmediate);
    assertLate((await rejection(stream.next())).thrown, id, deadline);
    assert.equal((await stream.next()).done, true);
  });

  it("a stream whose deadline is past does not call the handler", async () => {
    let called = 0;
    const { registry, id } = registered({
      type: "subscription",
      // biome-ignore lint/correctness/useYield: it is never called
      async *handler() {
        called += 1;
      },
    });
    const stream = registry.subscribe(id, {}, { deadline: Date.now() - 1 });
    await assert.rejects(stream.next(), callError("TIMEOUT", "before it began"));
    assert.equal(called, 0);
  });

  it("a stream that ends before its deadline ends without an error", async () => {
    const { registry, id } = registered({ type: "subscription" });
    const data = [];
    for await (const envelope of registry.subscribe(id, [1, 2], { deadline: soon(60_000) }))
      data.push(envelope.data);
    assert.deepEqual(data, [1, 2]);
  });
});

describe("the call protocol", () => {
  function serving(...operations) {
    const registry = new OperationRegistry();
    registry.registerAll(operations);
    const callMap = new PendingRequestMap();
    callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
    return { registry, callMap };
  }

  it("a request that arrives after its deadline is not served", async () => {
    let called = 0;
    const served = operation({ handler: () => ++called });
    const { registry, callMap } = serving(served);
    const deadline = Date.now() - 1;
    await buildCallHandler({ registry, callMap })({
      requestId: "r",
      operationId: idOf(served),
      input: 0,
      deadline,
    });
    assert.equal(called, 0);
  });

  it("a context of the call protocol has an environment, made on first use, with the caller's deadline and identity", async () => {
    const identity = { id: "u", scopes: [] };
    const inner = operation({
      namespace: "inner",
      name: "look",
      accessControl: { requiredScopes: ["admin"] },
      handler: (_, { deadline, requestId, identity: who }) => ({ deadline, requestId, who }),
    });
    const outer = operation({
      namespace: "outer",
      name: "call",
      handler: async (_, context) => {
        const { get } = Object.getOwnPropertyDescriptor(context, "env");
        const { env } = context;
        const { data } = await env.inner.look({});
        return {
          ...data,
          wasMade: get === undefined,
          same: env === context.env,
          requestId: data.requestId === context.requestId,
        };
      },
    });
    const { callMap } = serving(inner, outer);
    const deadline = soon(60_000);
    const { data } = await callMap.call("outer.call", {}, { deadline, identity });
    assert.deepEqual(data, { deadline, who: identity, wasMade: false, same: true, requestId: true });
  });

  it("the context of a served stream has an environment, and a handler may set its own", async () => {
    const { callMap } = serving(
      operation({ namespace: "inner", name: "one", handler: () => 1 }),
      subscription({
        namespace: "outer",
        name: "many",
        async *handler(_, context) {
          yield (await context.env.inner.one({})).data;
          context.env = { mine: {} };
          yield Object.keys(context.env);
        },
      }),
    );
    const data = [];
    for await (const envelope of callMap.subscribe("outer.many", {})) data.push(envelope.data);
    assert.deepEqual(data, [1, ["mine"]]);
  });
});

describe("other sources", { concurrency: true }, () => {
  const paths = {
    "/slow": { get: { operationId: "slow", responses: answers() } },
    "/events": { get: { operationId: "events", responses: answers("text/event-stream") } },
  };

  /** A server that answers nothing, or one event and then nothing; `gone` resolves when all connections are given up. */
  async function silentServer() {
    const { url, server, received } = await serve((request, response) => {
      if (request.url === "/events") {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write("data: 1\n\n");
      }
    });
    const open = new Set();
    server.on("connection", (socket) => {
      open.add(socket);
      socket.on("close", () => open.delete(socket));
    });
    return { url, received, gone: () => until(() => open.size === 0) };
  }

  for (const [how, config] of [
    ["natively", {}],
    ["through a fetch of the user's", { fetch: (...args) => globalThis.fetch(...args) }],
  ]) {
    it(`a deadline that passes aborts the HTTP request, sent ${how}`, async () => {
      const { url, received, gone } = await silentServer();
      const registry = new OperationRegistry();
      registry.registerAll(FromOpenAPI(documentOf(paths), { namespace: "t", baseUrl: url, ...config }));
      // A busy machine may need more time for the request to arrive.
      for (let time = 1_500; received.length === 0; time *= 2) {
        const deadline = soon(time);
        const { thrown } = await rejection(registry.execute("t.slow", {}, { deadline }));
        assertLate(thrown, "t.slow", deadline);
        await gone();
      }
    });

    it(`a deadline that passes closes the SSE stream, opened ${how}`, async () => {
      const { url, gone } = await silentServer();
      const registry = new OperationRegistry();
      registry.registerAll(FromOpenAPI(documentOf(paths), { namespace: "t", baseUrl: url, ...config }));
      // The same for the first event.
      for (let time = 1_500, hasBegun = false; !hasBegun; time *= 2) {
        const deadline = soon(time);
        const stream = registry.subscribe("t.events", {}, { deadline });
        const first = await stream.next().catch((error) => ({ error }));
        hasBegun = first.value !== undefined;
        if (hasBegun) assert.equal(first.value.data, 1);
        const late = hasBegun ? (await rejection(stream.next())).thrown : first.error;
        assertLate(late, "t.events", deadline);
        await gone();
      }
    });
  }

  it("a timeout of the HTTP source that is shorter than the deadline comes first", async () => {
    const { url } = await silentServer();
    const registry = new OperationRegistry();
    registry.registerAll(FromOpenAPI(documentOf(paths), { namespace: "t", baseUrl: url, timeout: 50 }));
    const { thrown } = await rejection(registry.execute("t.slow", {}, { deadline: soon(60_000) }));
    assert.equal(thrown.code, "TIMEOUT");
    assert.equal(thrown.details?.deadline, undefined);
  });

  it("a deadline that passes cancels the call at the MCP server, and the error has its delivery", async (t) => {
    const { registry } = await connected(t, stdio());
    const deadline = soon(1_500);
    const error = await failure(registry.execute("test.never", {}, { deadline }));
    assertLate(error, "test.never", deadline);
    assert.equal(error.details.delivery, "unknown");
    assert.equal(error.details.reason, "timeout", "the signal was only the way to end it");
  });
});
