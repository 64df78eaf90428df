// The package where no native code can be loaded: browsers and edge workers. What it lacks of the names of `index.ts` is
// added by `scripts/build-browser.mjs`, as functions that say why they are not available.

import { unavailable } from "./unavailable.js";

export { checkAccess, enforceAccess } from "../access.js";
export { buildCallHandler } from "../call/call-handler.js";
export { CallEventMap, CallEventSchema } from "../call/events.js";
export {
  PendingRequestMap,
  PendingRequestMap as PendingRequestMapClass,
} from "../call/pending-request-map.js";
export { createPortEventTarget } from "../call/port-event-target.js";
export { connectPort } from "../call/port-transport.js";
export * from "../envelope.js";
export * from "../envelope-schemas.js";
export * from "../error-guards.js";
export { CallError, InfrastructureErrorCode, mapError } from "../errors.js";
export { mapMCPContentBlocks } from "../mcp/content-blocks.js";
export { createRegistry } from "../registry/create-registry.js";
export { buildEnv } from "../registry/env.js";
export { OperationRegistry } from "../registry/registry.js";
export { subscribe } from "../registry/subscribe.js";
export { defaultAdapter } from "../schema/adapters.js";
export { FromSchema } from "../schema/from-schema.js";
export { assertIsSchema } from "../schema/guards.js";
export { useTypeBox } from "../schema/registries.js";
export { collectErrors, formatValueErrors, validateOrThrow } from "../schema/validation.js";
export * from "../spec-schemas.js";
export { parseSSEFrames } from "../sse/parse-frames.js";
export * from "../types.js";

const NO_FILES = "there are no files here: import your operations and give them to createRegistry()";
export const scanOperations = /* @__PURE__ */ unavailable("scanOperations", NO_FILES);
export const nodeScannerFS = {
  readdir: /* @__PURE__ */ unavailable("nodeScannerFS", NO_FILES),
  cwd: /* @__PURE__ */ unavailable("nodeScannerFS", NO_FILES),
};
export const registerFormats = /* @__PURE__ */ unavailable(
  "registerFormats",
  "formats are checked in native code: register those that you need with TypeBox's FormatRegistry",
);
export const zodAdapter = /* @__PURE__ */ unavailable(
  "zodAdapter",
  "a library cannot be loaded on demand here: give the registry your Zod 4 schemas as they are",
);
export const valibotAdapter = /* @__PURE__ */ unavailable(
  "valibotAdapter",
  "a library cannot be loaded on demand here: give the registry a schemaAdapter with toTypeBox: (schema) => FromSchema(toJsonSchema(schema))",
);
