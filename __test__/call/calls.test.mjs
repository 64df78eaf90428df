import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  buildCallHandler,
  buildEnv,
  CallError,
  CallEventMap,
  CallEventSchema,
  localEnvelope,
  mcpEnvelope,
  OperationRegistry,
  PendingRequestMap,
  PendingRequestMapClass,
  unwrap,
} from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { query, record, serving, settled, sleep } from "./support.mjs";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("a call", () => {
  it("a call resolves with the envelope of the operation", async () => {
    const { callMap } = serving([query("double", ({ n }) => ({ n: n * 2 }))]);
    const envelope = await callMap.call("t.double", { n: 21 });
    assert.deepEqual(unwrap(envelope), { n: 42 });
    assert.equal(envelope.meta.operationId, "t.double");
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("a call publishes events that satisfy their schemas", async () => {
    const { callMap } = serving([
      query("ok", () => 1),
      query("bad", () => {
        throw new Error("no");
      }),
    ]);
    const events = record(callMap);
    await callMap.call("t.ok", { a: 1 }, { identity: { id: "u", scopes: [] }, metadata: { m: 1 } });
    await callMap.call("t.bad", 1).catch(() => {});
    assert.deepEqual(
      events.map(([type]) => type),
      ["call.requested", "call.responded", "call.requested", "call.error"],
    );
    for (const [type, payload] of events) {
      assert.ok(Value.Check(CallEventMap[type], payload), `${type} ${JSON.stringify(payload)}`);
      assert.match(payload.requestId, UUID);
    }
    assert.equal(CallEventSchema, CallEventMap);
    assert.equal(PendingRequestMapClass, PendingRequestMap);
  });

  it("a call passes its context to the handler, and never trust", async () => {
    let seen;
    const { callMap } = serving([
      query("look", (_, context) => {
        seen = context;
      }),
    ]);
    const identity = { id: "u", scopes: ["a"] };
    const deadline = Date.now() + 60_000;
    await callMap.call("t.look", 0, {
      parentRequestId: "p",
      deadline,
      identity,
      metadata: { k: 1 },
      trusted: true,
    });
    const { signal, requestId, env, ...rest } = Object.fromEntries(Object.entries(seen));
    assert.equal(typeof env.t.look, "function");
    assert.deepEqual(rest, { parentRequestId: "p", deadline, identity, metadata: { k: 1 } });
    assert.match(requestId, UUID);
    assert.ok(signal instanceof AbortSignal);
  });

  it("a call does not read trust from an event", async () => {
    const { registry, callMap } = serving([
      query("secret", () => "told", { accessControl: { requiredScopes: ["admin"] } }),
    ]);
    const events = record(callMap);
    const handler = buildCallHandler({ registry, callMap });
    await handler({
      requestId: "r",
      operationId: "t.secret",
      input: {},
      trusted: true,
      context: { trusted: true },
    });
    assert.deepEqual(
      events.map(([type, { code }]) => [type, code]),
      [["call.error", "ACCESS_DENIED"]],
    );
  });

  it("a call is checked even when the registry trusts direct calls", async () => {
    const { registry, callMap } = serving(
      [query("secret", () => "told", { accessControl: { requiredScopes: ["admin"] } })],
      { options: { trustDirectCalls: true } },
    );
    assert.equal(unwrap(await registry.execute("t.secret", {}, {})), "told");
    await assert.rejects(callMap.call("t.secret", {}), { code: "ACCESS_DENIED" });
    const identity = { id: "u", scopes: ["admin"] };
    assert.equal(unwrap(await callMap.call("t.secret", {}, { identity })), "told");
  });

  it("a call fails with what the operation declared, or with the infrastructure's codes", async () => {
    const { callMap } = serving([
      query("full", () => Promise.reject(new Error("FULL: no room")), { errorSchemas: [{ code: "FULL" }] }),
      query("crash", () => {
        throw new TypeError("oops");
      }),
      query("odd", () => Promise.reject("a string")),
      query("mine", () => Promise.reject(new CallError("MINE", "m", { d: 1 }))),
      query("strict", () => 1, { inputSchema: Type.Object({ a: Type.Number() }) }),
    ]);
    for (const [id, input, code, message] of [
      ["t.full", 0, "FULL", "FULL: no room"],
      ["t.crash", 0, "EXECUTION_ERROR", "oops"],
      ["t.odd", 0, "UNKNOWN_ERROR", "a string"],
      ["t.mine", 0, "MINE", "m"],
      ["t.strict", {}, "VALIDATION_ERROR", undefined],
      ["t.missing", {}, "OPERATION_NOT_FOUND", "Operation not found: t.missing"],
    ]) {
      await assert.rejects(callMap.call(id, input), (error) => {
        assert.ok(error instanceof CallError);
        assert.equal(error.code, code);
        if (message !== undefined) assert.equal(error.message, message);
        return true;
      });
    }
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("a call takes an MCP error result for a response", async () => {
    const { callMap } = serving([query("tool", () => mcpEnvelope([], { isError: true, content: [] }))]);
    const envelope = await callMap.call("t.tool", {});
    assert.equal(envelope.meta.isError, true);
  });
});

describe("deadlines", () => {
  it("a deadline that passes rejects with TIMEOUT and aborts the call on the other side", async () => {
    let signal;
    const { callMap } = serving([
      query("slow", (_, context) => {
        signal = context.signal;
        return new Promise(() => {});
      }),
    ]);
    const events = record(callMap);
    const deadline = Date.now() + 20;
    const alive = setInterval(() => {}, 1000);
    await assert.rejects(callMap.call("t.slow", {}, { deadline }), (error) => {
      assert.equal(error.code, "TIMEOUT");
      assert.match(error.message, /timed out/);
      assert.deepEqual(error.details, { deadline });
      return true;
    });
    clearInterval(alive);
    assert.deepEqual(
      events.map(([type]) => type),
      ["call.requested", "call.aborted"],
    );
    assert.equal(signal.aborted, true);
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("a deadline that has passed rejects at once and publishes nothing", async () => {
    const { callMap } = serving([query("x", () => 1)]);
    const events = record(callMap);
    await assert.rejects(callMap.call("t.x", {}, { deadline: Date.now() - 1 }), { code: "TIMEOUT" });
    assert.deepEqual(events, []);
  });

  it("a deadline far in the future does not fire at once", async () => {
    const { callMap } = serving([query("x", () => sleep(5).then(() => 1))]);
    assert.equal(unwrap(await callMap.call("t.x", {}, { deadline: Date.now() + 2 ** 40 })), 1);
  });
});

describe("aborting", () => {
  const never = query(
    "never",
    (_, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(new Error("stopped")));
      }),
  );

  it("a call is aborted by the caller's signal", async () => {
    const { callMap } = serving([never]);
    const events = record(callMap);
    const controller = new AbortController();
    const call = callMap.call("t.never", {}, { signal: controller.signal });
    controller.abort();
    await assert.rejects(call, { code: "ABORTED", message: /was aborted/ });
    await settled();
    assert.deepEqual(
      events.map(([type]) => type),
      ["call.requested", "call.aborted"],
    );
  });

  it("a call with an aborted signal publishes nothing", async () => {
    const { callMap } = serving([never]);
    const events = record(callMap);
    await assert.rejects(callMap.call("t.never", {}, { signal: AbortSignal.abort() }), { code: "ABORTED" });
    assert.deepEqual(events, []);
  });

  it("a call is aborted by either side, through the map", async () => {
    const { callMap } = serving([never]);
    let requestId;
    callMap["call.requested"].subscribe((event) => {
      requestId = event.requestId;
    });
    const call = callMap.call("t.never", {});
    callMap.abort(requestId);
    await assert.rejects(call, { code: "ABORTED", message: /was aborted/ });
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("aborting a call aborts the calls that it has made, and so on down", async () => {
    const aborted = [];
    const registry = new OperationRegistry();
    const callMap = new PendingRequestMap();
    const nested = (name, next) =>
      query(name, async (_, context) => {
        context.signal.addEventListener("abort", () => aborted.push(name));
        if (next === undefined) return new Promise(() => {});
        const env = buildEnv({ registry, context, callMap });
        return env.t[next]({});
      });
    registry.registerAll([nested("outer", "middle"), nested("middle", "inner"), nested("inner")]);
    callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
    const controller = new AbortController();
    const call = callMap.call("t.outer", {}, { signal: controller.signal });
    await settled();
    assert.equal(callMap.getPendingCount(), 3);
    controller.abort();
    await assert.rejects(call, { code: "ABORTED" });
    await settled();
    assert.deepEqual(aborted.sort(), ["inner", "middle", "outer"]);
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("a nested call inherits identity, deadline and parent", async () => {
    const registry = new OperationRegistry();
    const callMap = new PendingRequestMap();
    let inner;
    let outerId;
    registry.registerAll([
      query("outer", async (_, context) => {
        outerId = context.requestId;
        return unwrap(await buildEnv({ registry, context, callMap }).t.inner({}));
      }),
      query("inner", (_, context) => {
        inner = context;
        return "done";
      }),
    ]);
    callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
    const deadline = Date.now() + 60_000;
    const identity = { id: "u", scopes: [] };
    assert.equal(unwrap(await callMap.call("t.outer", {}, { deadline, identity })), "done");
    assert.equal(inner.parentRequestId, outerId);
    assert.equal(inner.deadline, deadline);
    assert.deepEqual(inner.identity, identity);
    assert.equal("trusted" in inner, false);
  });
});

describe("the map itself", () => {
  it("a call map refuses to respond with anything but an envelope", () => {
    const callMap = new PendingRequestMap();
    for (const output of [undefined, 1, { data: 1 }, { data: 1, meta: { source: "x" } }]) {
      assert.throws(() => callMap.respond("r", output), {
        message: /PendingRequestMap\.respond\(\) requires a ResponseEnvelope/,
      });
    }
    assert.doesNotThrow(() => callMap.respond("r", localEnvelope(1, "a.b")));
  });

  it("a call map ignores events for unknown and finished requests", async () => {
    const { callMap } = serving([query("x", () => 1)]);
    let requestId;
    callMap["call.requested"].subscribe((event) => {
      requestId = event.requestId;
    });
    const first = await callMap.call("t.x", {});
    for (const id of [requestId, "unknown"]) {
      callMap.respond(id, localEnvelope(2, "t.x"));
      callMap.emitError(id, "A", "b");
      callMap.complete(id);
      callMap.abort(id);
    }
    assert.equal(unwrap(first), 1);
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("a call map treats a completion without a response as an abort", async () => {
    const callMap = new PendingRequestMap();
    callMap["call.requested"].subscribe(({ requestId }) => callMap.complete(requestId));
    await assert.rejects(callMap.call("t.x", {}), { code: "ABORTED" });
  });

  it("a call map removes listeners", () => {
    const callMap = new PendingRequestMap();
    let count = 0;
    const stop = callMap["call.aborted"].subscribe(() => {
      count += 1;
    });
    callMap.abort("a");
    stop();
    callMap.abort("b");
    assert.equal(count, 1);
  });

  it("a call map settles each of many calls in flight once", async () => {
    const { callMap } = serving([query("echo", async (input) => input)]);
    const calls = Array.from({ length: 10_000 }, (_, i) => callMap.call("t.echo", i));
    assert.equal(callMap.getPendingCount(), 10_000);
    const answers = await Promise.all(calls);
    answers.forEach((envelope, i) => {
      assert.equal(envelope.data, i);
    });
    assert.equal(callMap.getPendingCount(), 0);
  });

  it("the call handler never rejects, whatever event it gets", async () => {
    const { registry, callMap } = serving([]);
    const handler = buildCallHandler({ registry, callMap });
    for (const event of [
      undefined,
      null,
      1,
      {},
      { requestId: 1 },
      { requestId: "r" },
      { requestId: "r", operationId: 7 },
    ]) {
      assert.equal(await handler(event), undefined);
    }
  });
});
