export {
  type MCPAnnotations,
  type MCPContentBlock,
  type MCPResourceContent,
  type MCPResponseMeta,
  mcpEnvelope,
} from "./envelope.js";
export { mapMCPContentBlocks } from "./mcp/content-blocks.js";
