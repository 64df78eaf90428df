import type { MCPContentBlock, MCPResponseMeta, ResponseEnvelope } from "../envelope.js";
import { CallError, failed } from "../errors.js";
import { isRecord } from "../interop/options.js";
import { APPROVAL_REQUIRED } from "../registry/approvals.js";
import { APPROVAL_KEY } from "../registry/metadata.js";
import type { MCPClientConfig } from "./config.js";
import { mapMCPContentBlocks } from "./content-blocks.js";
import { ERROR_KEY } from "./origin.js";

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
  const approval = isError ? approvalRequired(_meta) : undefined;
  if (approval !== undefined) throw approval;
  const envelope = {
    data: structuredContent ?? textValue(content, isError, config) ?? content,
    meta: metaOf(isError, content, structuredContent as Record<string, unknown> | undefined, _meta),
  };
  if (isError && config.onToolError === "throw") throw toolError(server, tool, envelope, content);
  return envelope;
}

/** What a server of ours says of a call that needs an approval there. `crates/operations-mcp/src/client/result.rs` has the same. */
function approvalRequired(meta: Record<string, unknown> | undefined): CallError | undefined {
  const failure = meta?.[ERROR_KEY];
  if (!isRecord(failure) || typeof meta?.[APPROVAL_KEY] !== "string") return undefined;
  const { code, message, details } = failure;
  if (code !== APPROVAL_REQUIRED || typeof message !== "string" || !isRecord(details)) return undefined;
  return new CallError(code, message, details);
}

/** Written out four times: an object that others are spread into gets a hidden class of its own with every call, and
 * everything that reads it is slow. */
function metaOf(
  isError: boolean,
  content: MCPContentBlock[],
  structuredContent: Record<string, unknown> | undefined,
  _meta: Record<string, unknown> | undefined,
): MCPResponseMeta {
  if (structuredContent == null) {
    if (_meta == null) return { isError, content, source: "mcp" };
    return { isError, content, _meta, source: "mcp" };
  }
  if (_meta == null) return { isError, content, structuredContent, source: "mcp" };
  return { isError, content, structuredContent, _meta, source: "mcp" };
}

function checkResult(server: string, tool: string, sent: unknown): ToolResult {
  if (isRecord(sent)) return sent;
  throw failed(
    `MCP server '${server}', tool '${tool}': the result is not what the protocol prescribes; the call was carried out`,
    { server, tool, reason: "odd-answer", delivery: "done" },
  );
}

/** The value in a result that is one text with a JSON object or array in it, if that is enabled. */
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
