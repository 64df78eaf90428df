export { toAISDKTools } from "./tools/ai-sdk.js";
export type {
  AISDKSchema,
  AISDKTool,
  AISDKToolCall,
  AISDKToolOutput,
  AISDKTools,
  AISDKToolsOptions,
} from "./tools/ai-sdk-types.js";
export {
  type Catalogue,
  type CatalogueHit,
  type CatalogueOptions,
  catalogue,
  type OperationDescription,
  type SearchOptions,
  type SignatureOptions,
} from "./tools/catalogue.js";
export type { CatalogueOperations } from "./tools/catalogue-operations.js";
export type { ProgramRunner } from "./tools/program-run.js";
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
