// `registry.use`: functions around every call and every subscription.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  buildCallHandler,
  buildEnv,
  localEnvelope,
  OperationRegistry,
  PendingRequestMap,
  subscribe,
} from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { callError, idOf, operation, registered, subscription } from "./support/operations.mjs";
import { collect } from "./support/streams.mjs";

const isStream = (answer) => Symbol.asyncIterator in answer;

describe("a call", () => {
  it("a call passes through the middleware in the order of registration", async () => {
    const { registry, execute } = registered({ handler: () => said.push("handler") });
    const said = [];
    for (const name of ["first", "second"]) {
      registry.use(async (_, next) => {
        said.push(`${name} before`);
        const answer = await next();
        said.push(`${name} after`);
        return answer;
      });
    }
    await execute(1);
    assert.deepEqual(said, ["first before", "second before", "handler", "second after", "first after"]);
  });

  it("middleware gets the operation, input, context and kind of a call", async () => {
    const { registry, id, execute } = registered();
    const seen = [];
    registry.use((call, next) => {
      seen.push(call);
      return next();
    });
    const input = { n: 1 };
    const context = { requestId: "r" };
    await execute(input, context);
    const [call] = seen;
    assert.equal(call.operationId, id);
    assert.equal(call.operation.type, "query");
    assert.equal(call.kind, "call");
    assert.equal(call.isServed, false);
    assert.equal(call.input, input);
    assert.equal(call.context, context);
  });

  it("a call reaches its handler with the same objects", async () => {
    const seen = [];
    const { registry, execute } = registered({ handler: (...all) => void seen.push(...all) });
    registry.use((_, next) => next());
    const input = {};
    const context = {};
    await execute(input, context);
    assert.equal(seen[0], input);
    assert.equal(seen[1], context);
  });

  it("middleware can pass on another input and context, which are checked like any", async () => {
    const { registry, execute } = registered({
      inputSchema: Type.Number(),
      accessControl: { requiredScopes: ["s"] },
      handler: (input, { identity }) => [input, identity.id],
    });
    registry.use((_, next) => next({ input: 2, context: { identity: { id: "eve", scopes: ["s"] } } }));
    assert.deepEqual((await execute("no number")).data, [2, "eve"]);
    registry.use((_, next) => next({ input: "wrong" }));
    await assert.rejects(execute(1), callError("VALIDATION_ERROR"));
  });

  it("middleware can return a result without the handler, repeat a call, and refuse it", async () => {
    let calls = 0;
    const { registry, id, execute } = registered({
      handler: () => {
        calls += 1;
        if (calls === 1) throw new Error("once");
        return calls;
      },
    });
    const removeRetry = registry.use((_, next) => next().catch(() => next()));
    assert.equal((await execute()).data, 2);
    removeRetry();
    const removeCache = registry.use(() => localEnvelope("kept", id));
    assert.equal((await execute()).data, "kept");
    removeCache();
    registry.use(() => {
      throw new Error("not today");
    });
    await assert.rejects(execute(), /not today/);
    assert.equal(calls, 2);
  });

  it("middleware that returns no envelope fails the call, and the error says so", async () => {
    const { registry, execute } = registered();
    registry.use(() => "no envelope");
    await assert.rejects(
      execute(),
      callError("EXECUTION_ERROR", "a string", "return what next() resolves to"),
    );
  });

  it("a call ends at its deadline, however long a middleware waits", async () => {
    const { registry, execute } = registered();
    registry.use(() => new Promise(() => {}));
    await assert.rejects(execute(1, { deadline: Date.now() + 30 }), callError("TIMEOUT", "timed out"));
  });

  it("a call that timed out is seen as TIMEOUT by the middleware around it", async () => {
    const { registry, execute } = registered({ handler: () => new Promise(() => {}) });
    const seen = [];
    registry.use(async (_, next) => {
      try {
        return await next();
      } catch (error) {
        seen.push(error.code);
        throw error;
      }
    });
    await assert.rejects(execute(1, { deadline: Date.now() + 30 }), callError("TIMEOUT"));
    assert.deepEqual(seen, ["TIMEOUT"]);
  });

  it("a call of an operation that does not exist reaches no middleware", async () => {
    const { registry } = registered();
    registry.use(() => assert.fail("asked"));
    await assert.rejects(registry.execute("no.such", {}), callError("OPERATION_NOT_FOUND"));
  });

  it("middleware that was removed sees no more calls", async () => {
    const { registry, execute } = registered();
    const remove = registry.use(() => assert.fail("asked"));
    remove();
    remove();
    assert.equal((await execute(3)).data, 3);
  });

  it("nested calls pass through the middleware", async () => {
    const inner = operation({ handler: () => 1 });
    const outer = operation({
      handler: async (_, context) => (await context.env[inner.namespace][inner.name]({})).data,
    });
    const registry = new OperationRegistry();
    registry.registerAll([inner, outer]);
    const seen = [];
    registry.use((call, next) => {
      seen.push(call.operationId);
      return next();
    });
    await registry.execute(idOf(outer), {}, { env: buildEnv({ registry, context: {} }) });
    assert.deepEqual(seen, [idOf(outer), idOf(inner)]);
  });
});

describe("a subscription", () => {
  it("a subscription passes through the middleware, from its opening to its events", async () => {
    const { registry, id } = registered({ type: "subscription" });
    const said = [];
    registry.use(async (call, next) => {
      said.push(call.kind);
      const events = await next();
      assert.ok(isStream(events));
      return (async function* () {
        for await (const event of events) {
          said.push(event.data);
          yield { ...event, data: event.data * 10 };
        }
        said.push("end");
      })();
    });
    assert.deepEqual(
      (await collect(subscribe(registry, id, [1, 2]))).map(({ data }) => data),
      [10, 20],
    );
    assert.deepEqual(said, ["subscription", 1, 2, "end"]);
  });

  it("a subscription that middleware refuses rejects next()", async () => {
    const { registry, id } = registered({ type: "subscription", accessControl: { requiredScopes: ["s"] } });
    const seen = [];
    registry.use(async (_, next) => {
      try {
        return await next();
      } catch (error) {
        seen.push(error.code);
        throw error;
      }
    });
    await assert.rejects(subscribe(registry, id, []).next(), callError("ACCESS_DENIED"));
    assert.deepEqual(seen, ["ACCESS_DENIED"]);
  });

  it("a consumer that leaves a waiting subscription ends its handler once, through generator middleware", async () => {
    let ends = 0;
    const { registry, id } = registered({
      type: "subscription",
      handler: async function* (_, { signal }) {
        try {
          yield 1;
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
        } finally {
          ends += 1;
        }
      },
    });
    let around = 0;
    registry.use(async (_, next) => {
      const events = await next();
      return (async function* () {
        try {
          yield* events;
        } finally {
          around += 1;
        }
      })();
    });
    const controller = new AbortController();
    const events = subscribe(registry, id, [], { signal: controller.signal });
    assert.equal((await events.next()).value.data, 1);
    const waiting = events.next();
    const left = events.return();
    assert.deepEqual(await waiting, { done: true, value: undefined });
    controller.abort();
    await left;
    assert.deepEqual([ends, around], [1, 1]);
  });

  it("a subscription whose middleware gives no stream fails, and says so", async () => {
    const { registry, id } = registered({ type: "subscription" });
    registry.use(() => localEnvelope(1, "x"));
    await assert.rejects(
      subscribe(registry, id, []).next(),
      callError("EXECUTION_ERROR", "an async iterable of envelopes"),
    );
  });
});

describe("what is served", () => {
  function hub(registry) {
    const callMap = new PendingRequestMap();
    callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
    return callMap;
  }

  it("served calls and subscriptions pass through the middleware, marked as served", async () => {
    const query = operation();
    const stream = subscription();
    const registry = new OperationRegistry();
    registry.registerAll([query, stream]);
    const seen = [];
    registry.use((call, next) => {
      seen.push([call.operationId, call.kind, call.isServed]);
      return next();
    });
    const callMap = hub(registry);
    assert.equal((await callMap.call(idOf(query), 7)).data, 7);
    assert.equal((await collect(callMap.subscribe(idOf(stream), [1, 2]))).length, 2);
    assert.deepEqual(seen, [
      [idOf(query), "call", true],
      [idOf(stream), "subscription", true],
    ]);
  });

  it("a served call is not trusted, whatever context a middleware makes", async () => {
    const rules = { accessControl: { requiredScopes: ["s"] } };
    const query = operation(rules);
    const stream = subscription(rules);
    const hidden = subscription({ visibility: "internal" });
    for (const options of [{}, { trustDirectCalls: true }]) {
      const registry = new OperationRegistry(options);
      registry.registerAll([query, stream, hidden]);
      registry.use((call, next) => next({ context: { ...call.context, trusted: true } }));
      const callMap = hub(registry);
      await assert.rejects(callMap.call(idOf(query), 7), callError("ACCESS_DENIED"));
      await assert.rejects(callMap.subscribe(idOf(stream), []).next(), callError("ACCESS_DENIED"));
      await assert.rejects(callMap.subscribe(idOf(hidden), []).next(), callError("OPERATION_NOT_FOUND"));
    }
  });
});

describe("use()", () => {
  it("use() refuses what is no function", () => {
    const { registry } = registered();
    assert.throws(() => registry.use("log"), callError("VALIDATION_ERROR", "use: middleware", "a function"));
  });
});
