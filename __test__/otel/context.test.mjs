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
import { connect as connectRaw, headers as natsHeaders } from "nats";
import { skip, useNats } from "../nats/support.mjs";
import { operation, subscription } from "../registry/support/operations.mjs";
import { collect } from "../registry/support/streams.mjs";
import { registryOf } from "../support/registry.mjs";
import { until } from "../support/waiting.mjs";
import {
  CLIENT,
  exporter,
  idsOf,
  parentOf,
  propagator,
  provider,
  SERVER,
  spanOf,
  spans,
  useSdk,
} from "./support.mjs";

const { measured } = useSdk();
const active = () => trace.getActiveSpan()?.spanContext().spanId;

function instrumented(...operations) {
  const registry = registryOf(...operations);
  const stop = instrument(registry);
  return Object.assign(registry, { stop });
}

const named = (name, handler, more = {}) => operation({ namespace: "t", name, handler, ...more });

describe("within a process", () => {
  it("nested calls are children of the call that makes them, also after an await", async () => {
    const registry = instrumented(
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

  it("a stream's handler runs in the context of its span, in whatever context it is read", async () => {
    const registry = instrumented(
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
    const registry = instrumented(
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

  it("instrument works without a context manager and without globals", async () => {
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
    const registry = instrumented(
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
    const registry = instrumented(named("echo", (input) => input));
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
    const registry = instrumented(named("tool", () => 1));
    const { tools, call } = toTools(registry, { target: "json-schema" });
    await call(tools[0].name, {});
    const { attributes } = spanOf("execute_tool t_tool");
    assert.equal(attributes["gen_ai.operation.name"], "execute_tool");
    assert.equal(attributes["gen_ai.tool.name"], "t_tool");
  });
});

describe("between processes", () => {
  it("a call over a MessagePort belongs to the trace of its caller", async (t) => {
    const registry = instrumented(named("far", (_, { trace: given }) => Object.keys(given)));
    const { port1, port2 } = new MessageChannel();
    t.after(() => port1.close());
    const served = new PendingRequestMap(createPortEventTarget(port2));
    served["call.requested"].subscribe(buildCallHandler({ registry, callMap: served }));
    const callMap = new PendingRequestMap(createPortEventTarget(port1));
    await provider.getTracer("x").startActiveSpan("caller", async (span) => {
      assert.deepEqual((await callMap.call("t.far", {})).data, ["traceparent"]);
      span.end();
    });
    const [client, server] = [spanOf("t/far", CLIENT), spanOf("t/far", SERVER)];
    assert.equal(parentOf(client), idsOf(spanOf("caller")).spanId);
    assert.equal(parentOf(server), idsOf(client).spanId);
    for (const { attributes } of [client, server]) {
      assert.equal(attributes["rpc.method"], "t/far");
      assert.equal(attributes["rpc.system.name"], "alkdev.operations");
    }
    const points = await measured();
    for (const metric of ["rpc.client.call.duration", "rpc.server.call.duration"]) {
      assert.ok(points.get(metric).some((point) => point.attributes["rpc.method"] === "t/far"));
    }
  });

  it("a stream over a MessagePort keeps the trace in its handler, in whatever context it is read, and has spans at both ends", async (t) => {
    const registry = instrumented(
      subscription({
        namespace: "t",
        name: "ticks",
        handler: async function* (_, { env }) {
          for (let i = 0; i < 3; i++) {
            await new Promise((resolve) => setTimeout(resolve, 1));
            yield (await env.t.inner({})).data;
          }
        },
      }),
      named("inner", () => active()),
    );
    const { port1, port2 } = new MessageChannel();
    t.after(() => port1.close());
    const served = new PendingRequestMap(createPortEventTarget(port2));
    served["call.requested"].subscribe(buildCallHandler({ registry, callMap: served }));
    const callMap = new PendingRequestMap(createPortEventTarget(port1));
    const tracer = provider.getTracer("x");
    const stream = tracer.startActiveSpan("caller", (span) => {
      const events = callMap.subscribe("t.ticks", {});
      span.end();
      return events;
    });
    const seen = [];
    // Somebody else pulls.
    await tracer.startActiveSpan("other", async (span) => {
      for await (const { data } of stream) seen.push(data);
      span.end();
    });
    const [client, server] = [spanOf("t/ticks", CLIENT), spanOf("t/ticks", SERVER)];
    assert.equal(parentOf(client), idsOf(spanOf("caller")).spanId);
    assert.equal(parentOf(server), idsOf(client).spanId);
    assert.deepEqual(
      [client, server].map(({ attributes }) => attributes["operations.events"]),
      [3, 3],
    );
    const inner = spans().filter(({ name }) => name === "t.inner");
    assert.deepEqual(inner.map(parentOf), Array(3).fill(idsOf(server).spanId));
    assert.deepEqual(
      seen,
      inner.map((span) => idsOf(span).spanId),
    );
    assert.ok(
      spans().every((span) => span.name === "other" || idsOf(span).traceId === idsOf(client).traceId),
    );
  });

  it("a call that fails, and a stream that is left, have spans that say so", async (t) => {
    const registry = instrumented(
      named("fails", () => {
        throw new CallError("BROKEN", "broken");
      }),
      subscription({
        namespace: "t",
        name: "endless",
        handler: async function* () {
          for (;;) {
            yield 1;
            await new Promise((resolve) => setTimeout(resolve, 1));
          }
        },
      }),
    );
    const { port1, port2 } = new MessageChannel();
    t.after(() => port1.close());
    const served = new PendingRequestMap(createPortEventTarget(port2));
    served["call.requested"].subscribe(buildCallHandler({ registry, callMap: served }));
    const callMap = new PendingRequestMap(createPortEventTarget(port1));
    await assert.rejects(callMap.call("t.fails", {}), { code: "BROKEN" });
    for (const kind of [CLIENT, SERVER]) {
      const { attributes, status } = spanOf("t/fails", kind);
      assert.equal(attributes["error.type"], "BROKEN");
      assert.equal(attributes["rpc.response.status_code"], "BROKEN");
      assert.equal(status.code, 2);
    }
    for await (const { data } of callMap.subscribe("t.endless", {})) {
      assert.equal(data, 1);
      break;
    }
    assert.equal(spanOf("t/endless", CLIENT).status.code, 0);
  });

  describe("over NATS", () => {
    const nats = useNats();

    it("the trace of a call over NATS is in the headers of the message too", { skip }, async (t) => {
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
      const client = spanOf("t/far", CLIENT);
      assert.equal(parentOf(client), spanId);
      assert.ok(seen.includes(`00-${traceId}-${idsOf(client).spanId}-01`), `${seen}`);
      assert.equal(parentOf(spanOf("t/far", SERVER)), idsOf(client).spanId);
      for (const kind of [CLIENT, SERVER]) {
        assert.equal(spanOf("t/far", kind).attributes["network.protocol.name"], "nats");
      }
    });

    it("a trace that is only in the headers of a NATS message is taken from there", { skip }, async (t) => {
      const seen = [];
      const worker = await nats.worker([
        named("headed", (_, { trace: given }) => {
          seen.push(given);
          return 1;
        }),
      ]);
      // Somebody in between publishes the request once more, with a trace in its headers alone.
      const raw = await connectRaw({ servers: nats.broker.url });
      t.after(() => raw.close());
      const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
      const COPY = "e3902f90-4b79-433b-ad54-20c89aea86c0";
      const copied = new Promise((resolve) => {
        raw.subscribe(">", {
          callback: (_, message) => {
            const text = new TextDecoder().decode(message.data);
            if (!/\.call(\.|$)/.test(message.subject) || text.includes(COPY)) return;
            const headers = natsHeaders();
            headers.set("traceparent", traceparent);
            const copy = text
              .replaceAll(/"requestId":"[^"]+"/g, `"requestId":"${COPY}"`)
              .replace(/,"trace":\{[^}]*\}/, "");
            raw.publish(message.subject, copy, { headers, reply: message.reply });
            resolve();
          },
        });
      });
      await raw.flush();
      const caller = await nats.connect();
      await caller.callMap.call("t.headed", {});
      await copied;
      await until(() => seen.length >= 2);
      assert.deepEqual(seen[1], { traceparent });
      assert.equal(worker.registry.stats().unreported, 0);
    });
  });
});
