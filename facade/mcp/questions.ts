import { messageOf } from "../border/text.js";
import { logger } from "../logging.js";
import type { MCPClientConfig } from "./config.js";

const log = logger("mcp");

/** Asks the user's program what a server wants to know. The answer is JSON. */
export async function answerQuestion(
  server: string,
  config: MCPClientConfig,
  kind: string,
  question: unknown,
): Promise<string> {
  try {
    return JSON.stringify((await ask(server, config, kind, question)) ?? null);
  } catch (error) {
    log.error(`A question (${kind}) of MCP server '${server}' could not be answered: ${messageOf(error)}`, {
      server,
    });
    throw error;
  }
}

// biome-ignore lint/suspicious/noExplicitAny: JSON from the native side, in the shape that the callback declares
function ask(server: string, config: MCPClientConfig, kind: string, question: any): unknown {
  const { oauth } = config;
  switch (kind) {
    case "elicitation":
      return config.onElicitation?.(question, { server });
    case "sampling":
      return config.onSampling?.(question, { server });
    case "authorize":
      return oauth?.onAuthorize?.({ server, ...question });
    case "identityToken":
      return oauth?.workload?.token() ?? oauth?.enterprise?.idToken();
    case "loadTokens":
      return oauth?.tokenStore?.load();
    case "saveTokens":
      return oauth?.tokenStore?.save(question);
    case "clearTokens":
      return oauth?.tokenStore?.clear();
    default:
      throw new Error(`unknown question: ${kind}`);
  }
}
