import { isRecord } from "../border/options.js";
import {
  type MCPContentBlock,
  type MCPResponseMeta,
  mcpEnvelope,
  type ResponseEnvelope,
} from "../envelope.js";
import { type CallError, failed } from "../errors.js";
import type { MCPClientConfig } from "./config.js";
import { mapMCPContentBlocks } from "./content-blocks.js";

/** The result of a tool, as servers send it. */
interface ToolResult {
  content?: unknown[];
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: Record<string, unknown>;
}

/** The result of a tool as an envelope. */
export function envelopeOfResult(
  server: string,
  tool: string,
  sent: unknown,
  config: MCPClientConfig,
): ResponseEnvelope<unknown> {
  const result = checkResult(server, tool, sent);
  const content = mapMCPContentBlocks(result.content);
  const isError = result.isError === true;
  const { structuredContent, _meta } = result;
  const meta: Omit<MCPResponseMeta, "source"> = { isError, content };
  if (structuredContent != null) meta.structuredContent = structuredContent as Record<string, unknown>;
  if (_meta != null) meta._meta = _meta;
  const envelope = mcpEnvelope(structuredContent ?? textValue(content, isError, config) ?? content, meta);
  if (isError && config.onToolError === "throw") throw toolError(server, tool, envelope, content);
  return envelope;
}

function checkResult(server: string, tool: string, sent: unknown): ToolResult {
  if (isRecord(sent)) return sent;
  throw failed(
    `MCP server '${server}', tool '${tool}': the result is not what the protocol prescribes; the call was carried out`,
    { server, tool, reason: "odd-answer", delivery: "done" },
  );
}

/** The value in a result that is one text with a JSON object or array in it, if that is wanted. */
function textValue(content: MCPContentBlock[], isError: boolean, config: MCPClientConfig): unknown {
  const [block] = content;
  if (config.parseJSONText !== true || isError || content.length !== 1 || block?.type !== "text") {
    return undefined;
  }
  try {
    const value: unknown = JSON.parse(block.text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function toolError(
  server: string,
  tool: string,
  envelope: ResponseEnvelope<unknown>,
  content: MCPContentBlock[],
): CallError {
  const words = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  return failed(`MCP server '${server}', tool '${tool}' failed${words === "" ? "" : `: ${words}`}`, {
    server,
    tool,
    reason: "tool-failed",
    delivery: "done",
    envelope,
  });
}
