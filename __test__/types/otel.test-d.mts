// Instrumentation takes what OpenTelemetry's API gives.

import { createRegistry, OperationRegistry } from "@alkdev/operations";
import { CONVENTIONS, type InstrumentOptions, instrument } from "@alkdev/operations/otel";
import { metrics, type Tracer, trace } from "@opentelemetry/api";
import { expectTypeOf } from "expect-type";

const registry = new OperationRegistry();
expectTypeOf(instrument(registry)).toEqualTypeOf<() => void>();
instrument(createRegistry([]));
instrument(registry, { tracer: trace.getTracer("mine"), meter: metrics.getMeter("mine") });
instrument(registry, { record: { inputs: true } });
expectTypeOf<InstrumentOptions["tracer"]>().toEqualTypeOf<Tracer | undefined>();
expectTypeOf(CONVENTIONS).toExtend<string>();
// @ts-expect-error a misspelt option
instrument(registry, { recorded: {} });
