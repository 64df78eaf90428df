/** Traces and metrics by OpenTelemetry. Needs `@opentelemetry/api`. */
export { CONVENTIONS } from "./otel/conventions.js";
export { type InstrumentOptions, instrument } from "./otel/instrument.js";
