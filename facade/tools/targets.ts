// The forms that the targets' APIs take.

import type { OperationSpec } from "../types.js";
import type { JSONSchema } from "./projection.js";

/**
 * The API that tools are made for.
 *
 * @example
 * ```ts
 * const targets: ToolTarget[] = ["openai-strict", "anthropic"];
 * const lists = targets.map((target) => toTools(registry, { target }).tools);
 * ```
 */
export type ToolTarget = "openai" | "openai-strict" | "anthropic" | "gemini" | "mcp" | "json-schema";

/**
 * A tool of OpenAI's Responses API.
 *
 * @example
 * ```ts
 * const tools: OpenAITool[] = toTools(registry, { target: "openai-strict" }).tools;
 * ```
 */
export interface OpenAITool {
  type: "function";
  name: string;
  description: string;
  parameters: JSONSchema;
  strict: boolean;
}

/**
 * A tool of OpenAI's Chat Completions API.
 *
 * @example
 * ```ts
 * const tools: OpenAIChatTool[] = toTools(registry, { target: "openai", api: "chat" }).tools;
 * ```
 */
export interface OpenAIChatTool {
  type: "function";
  function: { name: string; description: string; parameters: JSONSchema; strict: boolean };
}

/**
 * A tool of Anthropic's Messages API.
 *
 * @example
 * ```ts
 * const tools: AnthropicTool[] = toTools(registry, { target: "anthropic" }).tools;
 * ```
 */
export interface AnthropicTool {
  name: string;
  description: string;
  input_schema: JSONSchema & { type: "object" };
}

/**
 * A function declaration of Gemini: goes into `tools: [{ functionDeclarations }]`.
 *
 * @example
 * ```ts
 * const functionDeclarations: GeminiTool[] = toTools(registry, { target: "gemini" }).tools;
 * ```
 */
export interface GeminiTool {
  name: string;
  description: string;
  /** Absent for a function without parameters. */
  parameters?: JSONSchema;
}

/**
 * A tool as an MCP server lists it.
 *
 * @example
 * ```ts
 * const tools: MCPTool[] = toTools(registry, { target: "mcp" }).tools;
 * ```
 */
export interface MCPTool {
  name: string;
  title?: string;
  description: string;
  inputSchema: JSONSchema & { type: "object" };
  outputSchema?: JSONSchema & { type: "object" };
  annotations: { readOnlyHint: boolean };
}

/**
 * A tool for any other API.
 *
 * @example
 * ```ts
 * const tools: JSONSchemaTool[] = toTools(registry, { target: "json-schema" }).tools;
 * ```
 */
export interface JSONSchemaTool {
  name: string;
  description: string;
  inputSchema: JSONSchema;
  outputSchema: JSONSchema;
}

/**
 * The form of a tool for a target.
 *
 * @example
 * ```ts
 * const first: ToolFor<"anthropic"> | undefined = toTools(registry, { target: "anthropic" }).tools[0];
 * ```
 */
export type ToolFor<TTarget extends ToolTarget, TApi extends "responses" | "chat" = "responses"> = {
  openai: TApi extends "chat" ? OpenAIChatTool : OpenAITool;
  "openai-strict": TApi extends "chat" ? OpenAIChatTool : OpenAITool;
  anthropic: AnthropicTool;
  gemini: GeminiTool;
  mcp: MCPTool;
  "json-schema": JSONSchemaTool;
}[TTarget];

/** What every form is made of. */
interface ToolParts {
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
