export { createHandler, type RegistryHandler, type RegistryHandlerOptions } from "./serve/handler.js";
export type { AcceptSpoke, ServedHub, Spoke, SpokeAcceptance, SpokeEvent, Spokes } from "./serve/hub.js";
export type { Identify, KeptIdentity, ServedRequest } from "./serve/identify.js";
export type { OpenAPIInfo } from "./serve/info.js";
export type { ServeIntrospection } from "./serve/introspection.js";
export type { JwtAlgorithm, JwtClaims, ServeJwt } from "./serve/jwt.js";
export type {
  MCPDoorOptions,
  MCPResumeOptions,
  MCPTaskOptions,
  MCPTaskRedis,
  McpDoorOptions,
  McpResumeOptions,
  McpTaskOptions,
  McpTaskRedis,
} from "./serve/mcp-door.js";
export { type NodeListener, toNodeListener } from "./serve/node-listener.js";
export type {
  ExplorerDoorOptions,
  HTTPDoorOptions,
  HttpDoorOptions,
  HubDoorOptions,
  ServeCors,
  ServeDoors,
  ServeOAuth,
  ServeOptions,
  ServeTls,
} from "./serve/options.js";
export { type ServeCloseOptions, type Served, type ServeStats, serve } from "./serve/serve.js";
export { type ServeStdioOptions, serveStdio } from "./serve/stdio.js";
export { type ToOpenAPIOptions, toOpenAPI } from "./serve/to-openapi.js";
