export {
  type MCPAnnotations,
  type MCPContentBlock,
  type MCPResourceContent,
  type MCPResponseMeta,
  mcpEnvelope,
} from "./envelope.js";
export { closeMCPClient, createMCPClient } from "./mcp/client.js";
export type {
  MCPClient,
  MCPClientWrapper,
  MCPProgress,
  MCPRequestOptions,
  MCPServerInfo,
  MCPServerReport,
  MCPServerStatus,
  MCPStatusEvent,
  MCPToolsListener,
} from "./mcp/client-types.js";
export type {
  MCPClientConfig,
  MCPElicitation,
  MCPElicitationAnswer,
  MCPSampling,
  MCPSamplingAnswer,
  MCPSessions,
} from "./mcp/config.js";
export { mapMCPContentBlocks } from "./mcp/content-blocks.js";
export {
  MCPClientLoader,
  type MCPLoadReport,
  type MCPServers,
  type MCPServersFile,
} from "./mcp/loader.js";
export type {
  MCPClientCredentials,
  MCPEnterprise,
  MCPOAuthConfig,
  MCPTokenStore,
  MCPWorkload,
} from "./mcp/oauth-config.js";
export type { MCPOperation, MCPToolProblem, ToolChanges as MCPToolChanges } from "./mcp/operations.js";
export type { MCPToolCache } from "./mcp/tool-cache.js";
export type { MCPListedTool, MCPToolChoice, MCPToolView } from "./mcp/tool-view.js";
