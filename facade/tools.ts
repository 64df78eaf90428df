export type { JSONSchema, ProjectedSchema, SchemaLoss } from "./tools/projection.js";
export { projectSchema } from "./tools/projection.js";
export type { ToolContent, ToolContentBlock, ToolResult } from "./tools/result.js";
export type {
  AnthropicTool,
  GeminiTool,
  JSONSchemaTool,
  MCPTool,
  OpenAIChatTool,
  OpenAITool,
  ToolFor,
  ToolTarget,
} from "./tools/targets.js";
export { type ToolLoss, type Tools, type ToToolsOptions, toTools } from "./tools/to-tools.js";
