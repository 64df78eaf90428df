// The context of a trace is not lost: over `await`, in streams, across threads and processes, and without a context manager.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MessageChannel } from "node:worker_threads";
import {
  buildCallHandler,
  buildEnv,
  CallError,
  createPortEventTarget,
  OperationRegistry,
  PendingRequestMap,
  subscribe,
} from "@alkdev/operations";
import { instrument } from "@alkdev/operations/otel";
import { toTools } from "@alkdev/operations/tools";
import { trace } from "@opentelemetry/api";
import { connect as connectRaw } from "nats";
import { skip, useNats } from "../nats/support.mjs";
import { operation, subscription } from "../registry/support/operations.mjs";
import { collect } from "../registry/support/streams.mjs";
import { exporter, idsOf, parentOf, propagator, provider, spanOf, spans, useSdk } from "./support.mjs";

const { measured } = useSdk();
const active = () => trace.getActiveSpan()?.spanContext().spanId;

function registryOf(...operations) {
  const registry = new OperationRegistry();
  registry.registerAll(operations);
  const stop = instrument(registry);
  return Object.assign(registry, { stop });
}

const named = (name, handler, more = {}) => operation({ namespace: "t", name, handler, ...more });

describe("within a process", () => {
  it("nested calls are children of the call that makes them, also after an await", async () => {
    const registry = registryOf(
      named("outer", async (_, { env }) => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        await env.t.inner({});
        return registry.execute("t.inner", {}, {});
      }),
      named("inner", () => active()),
    );
    await registry.execute("t.outer", {}, { env: buildEnv({ registry, context: {} }) });
    const outer = idsOf(spanOf("t.outer"));
    const inner = spans().filter(({ name }) => name === "t.inner");
    assert.deepEqual(inner.map(parentOf), [outer.spanId, outer.spanId]);
    assert.ok(inner.every((span) => idsOf(span).traceId === outer.traceId));
  });

  it("a stream's handler runs in the context of its span, whoever pulls", async () => {
    const registry = registryOf(
      subscription({
        namespace: "t",
        name: "stream",
        handler: async function* () {
          yield active();
          await new Promise((resolve) => setTimeout(resolve, 1));
          yield active();
        },
      }),
    );
    const seen = await provider.getTracer("x").startActiveSpan("other", async (span) => {
      const events = await collect(subscribe(registry, "t.stream", {}));
      span.end();
      return events.map(({ data }) => data);
    });
    const span = spanOf("t.stream");
    assert.deepEqual(seen, [idsOf(span).spanId, idsOf(span).spanId]);
    assert.equal(parentOf(span), idsOf(spanOf("other")).spanId);
    assert.equal(span.attributes["operations.events"], 2);
  });

  it("a stream that its consumer leaves has an end, and no error", async () => {
    const registry = registryOf(
      subscription({
        namespace: "t",
        name: "left",
        handler: async function* () {
          yield 1;
          yield 2;
        },
      }),
    );
    for await (const _ of subscribe(registry, "t.left", {})) break;
    assert.equal(spanOf("t.left").attributes["operations.events"], 1);
    assert.equal(spanOf("t.left").status.code, 0);
  });

  it("works without a context manager and without globals", async () => {
    // As in a process where nothing was registered: nothing of this is the global provider's.
    const tracer = provider.getTracer("own");
    const registry = new OperationRegistry();
    registry.registerAll([
      named("outer", async (_, { env }) => {
        await null;
        return env.t.inner({});
      }),
      named("inner", () => 1),
    ]);
    const stop = instrument(registry, { tracer, propagator });
    await registry.execute("t.outer", {}, { env: buildEnv({ registry, context: {} }) });
    assert.equal(parentOf(spanOf("t.inner")), idsOf(spanOf("t.outer")).spanId);
    stop();
    exporter.reset();
    await registry.execute("t.inner", {});
    assert.equal(spans().length, 0);
  });

  it("a failure is in its span, by its code, and a denial too", async () => {
    const registry = registryOf(
      named("fails", () => {
        throw new CallError("NO_SUCH_PET", "gone");
      }),
      named("closed", () => 1, { accessControl: { requiredScopes: ["s"] } }),
    );
    await assert.rejects(registry.execute("t.fails", {}));
    await assert.rejects(registry.execute("t.closed", {}));
    const { attributes, status } = spanOf("t.fails");
    assert.equal(attributes["error.type"], "NO_SUCH_PET");
    assert.deepEqual(status, { code: 2, message: "gone" });
    assert.equal(spanOf("t.closed").attributes["error.type"], "ACCESS_DENIED");
    const points = (await measured()).get("operations.call.duration");
    assert.ok(points.some((point) => point.attributes["error.type"] === "NO_SUCH_PET"));
  });

  it("inputs and outputs are recorded only on request", async () => {
    const registry = registryOf(named("echo", (input) => input));
    await registry.execute("t.echo", { secret: 1 });
    assert.ok(!JSON.stringify(spanOf("t.echo").attributes).includes("secret"));
    registry.stop();
    exporter.reset();
    instrument(registry, { record: { inputs: true, outputs: true } });
    await registry.execute("t.echo", { secret: 1 });
    const { attributes } = spanOf("t.echo");
    assert.equal(attributes["operations.input"], '{"secret":1}');
    assert.equal(attributes["operations.output"], '{"secret":1}');
  });

  it("a model's call is the execution of a tool", async () => {
    const registry = registryOf(named("tool", () => 1));
    const { tools, call } = toTools(registry, { target: "json-schema" });
    await call(tools[0].name, {});
    const { attributes } = spanOf("execute_tool t.tool");
    assert.equal(attributes["gen_ai.operation.name"], "execute_tool");
    assert.equal(attributes["gen_ai.tool.name"], "t.tool");
  });
});

describe("between processes", () => {
  it("a call over a MessagePort belongs to the trace of its caller", async (t) => {
    const registry = registryOf(named("far", (_, { trace: given }) => Object.keys(given)));
    const { port1, port2 } = new MessageChannel();
    t.after(() => port1.close());
    const served = new PendingRequestMap(createPortEventTarget(port2));
    served["call.requested"].subscribe(buildCallHandler({ registry, callMap: served }));
    const callMap = new PendingRequestMap(createPortEventTarget(port1));
    await provider.getTracer("x").startActiveSpan("caller", async (span) => {
      assert.deepEqual((await callMap.call("t.far", {})).data, ["traceparent"]);
      span.end();
    });
    const span = spanOf("t/far");
    assert.equal(parentOf(span), idsOf(spanOf("caller")).spanId);
    assert.equal(span.kind, 1);
    assert.equal(span.attributes["rpc.method"], "t/far");
    assert.equal(span.attributes["rpc.system.name"], "alkdev.operations");
  });

  describe("over NATS", () => {
    const nats = useNats();

    it("the trace is in the headers of the message too", { skip }, async (t) => {
      const raw = await connectRaw({ servers: nats.broker.url });
      t.after(() => raw.close());
      const seen = [];
      raw.subscribe(">", {
        callback: (_, message) => {
          if (message.headers?.has("traceparent")) seen.push(message.headers.get("traceparent"));
        },
      });
      await raw.flush();
      const worker = await nats.worker([named("far", () => 1)]);
      instrument(worker.registry);
      const caller = await nats.connect();
      await provider.getTracer("x").startActiveSpan("caller", async (span) => {
        await caller.callMap.call("t.far", {});
        span.end();
      });
      await raw.flush();
      const { traceId, spanId } = idsOf(spanOf("caller"));
      assert.ok(seen.includes(`00-${traceId}-${spanId}-01`), `${seen}`);
      assert.equal(parentOf(spanOf("t/far")), spanId);
      assert.equal(spanOf("t/far").attributes["network.protocol.name"], "nats");
    });
  });
});
