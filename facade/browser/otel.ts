// What the entry for OpenTelemetry has where no native code can be loaded. `instrument` needs the context of Node.

export { CONVENTIONS } from "../otel/conventions.js";
