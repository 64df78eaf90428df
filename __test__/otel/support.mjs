// Spans and metrics in memory, and the operations that make them.

import { after, afterEach } from "node:test";
import { context, metrics, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";

export const propagator = new CompositePropagator({
  propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()],
});

/** Spans that have ended, in the order of their ends. */
export const exporter = new InMemorySpanExporter();
export const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });

/** Registers an SDK for the whole process, as an application would. */
export function useSdk() {
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 1e8 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  trace.setGlobalTracerProvider(provider);
  metrics.setGlobalMeterProvider(meterProvider);
  propagation.setGlobalPropagator(propagator);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  afterEach(() => exporter.reset());
  after(async () => {
    for (const api of [trace, metrics, propagation, context]) api.disable();
    await meterProvider.shutdown();
    await provider.shutdown();
  });
  return {
    /** The histograms so far: name to data points. */
    async measured() {
      await reader.forceFlush();
      const [last] = metricExporter.getMetrics().slice(-1);
      const all = last.scopeMetrics.flatMap((scope) => scope.metrics);
      return new Map(all.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints]));
    },
  };
}

export const spans = () => exporter.getFinishedSpans();

/** The only span of this name, and, if that is asked for, of this kind: 1 server, 2 client. */
export function spanOf(name, kind) {
  const found = spans().filter((span) => span.name === name && (kind === undefined || span.kind === kind));
  if (found.length !== 1) {
    throw new Error(
      `${found.length} spans are called ${name}; there are ${spans().map((span) => span.name)}`,
    );
  }
  return found[0];
}

export const SERVER = 1;
export const CLIENT = 2;

export const idsOf = (span) => span.spanContext();
export const parentOf = (span) => span.parentSpanContext?.spanId;
