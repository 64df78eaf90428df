export { checkAccess, enforceAccess } from "./access.js";
export * from "./envelope.js";
export * from "./envelope-schemas.js";
export { CallError, type CallErrorCode, InfrastructureErrorCode, mapError } from "./errors.js";
export * from "./from-mcp.js";
export * from "./from-openapi.js";
export * from "./from-typemap.js";
export { FromSchema } from "./schema/from-schema.js";
export { assertIsSchema } from "./schema/guards.js";
export type { AnySchema, SchemaInput, SchemaOutput, StandardSchema, TypeBoxSchema } from "./schema-types.js";
export * from "./spec-schemas.js";
export * from "./types.js";

// Loads the addon. Last, so that what it needs of the above is there; and here, so that a missing
// binary is reported when the package is imported and not in the middle of the application's work.
import "./runtime.js";
