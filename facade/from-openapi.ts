export { type HTTPResponseMeta, httpEnvelope } from "./envelope.js";
export type {
  HTTPAuth,
  HTTPOAuth,
  HTTPRetry,
  HTTPServiceConfig,
  HTTPStreams,
  OpenAPICandidate,
  OpenAPIImportConfig,
  OpenAPISelector,
  PerCall,
} from "./openapi/config.js";
export { FromOpenAPIFile } from "./openapi/file.js";
export { FromOpenAPI, inspectOpenAPI } from "./openapi/import.js";
export { OpenAPIServiceRegistry } from "./openapi/service-registry.js";
export type {
  OpenAPIFS,
  OpenAPIImportedOperation,
  OpenAPIInspection,
  OpenAPIOperation,
  OpenAPIParameter,
  OpenAPIProblem,
  OpenAPIReportEntry,
  OpenAPISecurity,
  OpenAPISpec,
} from "./openapi/types.js";
export { FromOpenAPIUrl } from "./openapi/url.js";
export { parseSSEFrames, type SSEEvent } from "./sse/parse-frames.js";
