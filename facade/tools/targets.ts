// The forms that the targets' APIs take.

import type { OperationSpec } from "../types.js";
import type { JSONSchema } from "./projection.js";

/** Whom tools are for. */
export type ToolTarget = "openai" | "openai-strict" | "anthropic" | "gemini" | "mcp" | "json-schema";

/** OpenAI's Responses API. */
export interface OpenAITool {
  type: "function";
  name: string;
  description: string;
  parameters: JSONSchema;
  strict: boolean;
}

/** OpenAI's Chat Completions API. */
export interface OpenAIChatTool {
  type: "function";
  function: { name: string; description: string; parameters: JSONSchema; strict: boolean };
}

/** Anthropic's Messages API. */
export interface AnthropicTool {
  name: string;
  description: string;
  input_schema: JSONSchema & { type: "object" };
}

/** A function declaration of Gemini: goes into `tools: [{ functionDeclarations }]`. */
export interface GeminiTool {
  name: string;
  description: string;
  /** Absent for a function without parameters. */
  parameters?: JSONSchema;
}

/** A tool as an MCP server lists it. */
export interface MCPTool {
  name: string;
  title?: string;
  description: string;
  inputSchema: JSONSchema & { type: "object" };
  outputSchema?: JSONSchema & { type: "object" };
  annotations: { readOnlyHint: boolean };
}

/** For everybody else. */
export interface JSONSchemaTool {
  name: string;
  description: string;
  inputSchema: JSONSchema;
  outputSchema: JSONSchema;
}

/** The tool of a target. */
export type ToolFor<TTarget extends ToolTarget, TApi extends "responses" | "chat" = "responses"> = {
  openai: TApi extends "chat" ? OpenAIChatTool : OpenAITool;
  "openai-strict": TApi extends "chat" ? OpenAIChatTool : OpenAITool;
  anthropic: AnthropicTool;
  gemini: GeminiTool;
  mcp: MCPTool;
  "json-schema": JSONSchemaTool;
}[TTarget];

/** What every form is made of. */
export interface ToolParts {
  name: string;
  description: string;
  spec: OperationSpec;
  input: JSONSchema;
  /** Nothing where the target takes none, or the operation declares none. */
  output: JSONSchema | undefined;
}

type AnyTool = ToolFor<ToolTarget, "responses" | "chat">;

/** A tool in the form of a target. */
export function toolOf(
  target: ToolTarget,
  api: "responses" | "chat",
  { name, description, spec, input, output }: ToolParts,
): AnyTool {
  switch (target) {
    case "openai":
    case "openai-strict": {
      const strict = target === "openai-strict";
      return api === "chat"
        ? { type: "function", function: { name, description, parameters: input, strict } }
        : { type: "function", name, description, parameters: input, strict };
    }
    case "anthropic":
      return { name, description, input_schema: input as AnthropicTool["input_schema"] };
    case "gemini":
      return hasProperties(input) ? { name, description, parameters: input } : { name, description };
    case "mcp": {
      const tool: MCPTool = {
        name,
        description,
        inputSchema: input as MCPTool["inputSchema"],
        annotations: { readOnlyHint: spec.type === "query" },
      };
      if (spec.title !== undefined) tool.title = spec.title;
      if (output?.type === "object") tool.outputSchema = output as MCPTool["inputSchema"];
      return tool;
    }
    case "json-schema":
      return { name, description, inputSchema: input, outputSchema: output ?? {} };
  }
}

/** Gemini refuses objects without properties. */
function hasProperties(schema: JSONSchema): boolean {
  return Object.keys(Object(schema.properties)).length > 0;
}
