export {
  type MCPAnnotations,
  type MCPContentBlock,
  type MCPResourceContent,
  type MCPResponseMeta,
  mcpEnvelope,
} from "./envelope.js";
export {
  closeMCPClient,
  createMCPClient,
  type MCPClient,
  type MCPClientWrapper,
  type MCPRequestOptions,
  type MCPServerInfo,
  type MCPServerStatus,
  type MCPToolsListener,
} from "./mcp/client.js";
export type {
  MCPClientConfig,
  MCPClientCredentials,
  MCPElicitation,
  MCPElicitationAnswer,
  MCPOAuthConfig,
  MCPSampling,
  MCPSamplingAnswer,
  MCPTokenStore,
} from "./mcp/config.js";
export { mapMCPContentBlocks } from "./mcp/content-blocks.js";
export {
  MCPClientLoader,
  type MCPLoadReport,
  type MCPServers,
  type MCPServersFile,
} from "./mcp/loader.js";
export type { MCPOperation, MCPToolProblem, ToolChanges as MCPToolChanges } from "./mcp/operations.js";
export type { MCPProgress } from "./mcp/server-link.js";
