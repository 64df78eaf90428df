// A worker thread with an SDK of its own, which serves calls over a port and makes calls over Redis.

import { parentPort, workerData } from "node:worker_threads";
import {
  buildCallHandler,
  createPortEventTarget,
  OperationRegistry,
  PendingRequestMap,
} from "@alkdev/operations";
import { instrument } from "@alkdev/operations/otel";
import { createRedisEventTarget } from "@alkdev/operations/transport-redis";
import { CompositePropagator, W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { operation } from "../registry/support/operations.mjs";

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const propagator = new CompositePropagator({ propagators: [new W3CTraceContextPropagator()] });

const { port, url } = workerData;
const redis = createRedisEventTarget({ url });
const far = new PendingRequestMap(redis);
const registry = new OperationRegistry();
registry.register(
  operation({
    namespace: "t",
    name: "there",
    handler: async () => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      return (await far.call("t.back", {})).data;
    },
  }),
);
// Nothing global: as in a thread where nothing was registered.
instrument(registry, { tracer: provider.getTracer("thread"), propagator });
const callMap = new PendingRequestMap(createPortEventTarget(port));
callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
parentPort.on("message", () => {
  const spans = exporter.getFinishedSpans();
  parentPort.postMessage(
    spans.map((span) => ({
      name: span.name,
      kind: span.kind,
      parent: span.parentSpanContext?.spanId,
      spanId: span.spanContext().spanId,
      traceId: span.spanContext().traceId,
    })),
  );
});
parentPort.postMessage("ready");
