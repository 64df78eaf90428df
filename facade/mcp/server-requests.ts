import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { messageOf } from "../interop/text.js";
import { logger } from "../logging.js";
import type { MCPClientConfig } from "./config.js";

const log = logger("mcp");

/** Answers a request of a server with the callbacks of the program. The answer is JSON. */
export async function answerServerRequest(
  server: string,
  config: MCPClientConfig,
  kind: string,
  params: unknown,
): Promise<string> {
  try {
    return JSON.stringify((await dispatch(server, config, kind, params)) ?? null);
  } catch (error) {
    log.error(`Failed to answer a request (${kind}) of MCP server '${server}': ${messageOf(error)}`, {
      server,
    });
    throw error;
  }
}

// biome-ignore lint/suspicious/noExplicitAny: JSON from the native side, in the shape that the callback declares
function dispatch(server: string, config: MCPClientConfig, kind: string, params: any): unknown {
  const { oauth } = config;
  switch (kind) {
    case "elicitation":
      return config.onElicitation?.(params, { server });
    case "sampling":
      return config.onSampling?.(params, { server });
    case "roots":
      return rootsOf(config);
    case "authorize":
      return oauth?.onAuthorize?.({ server, ...params });
    case "identityToken":
      return oauth?.workload?.token() ?? oauth?.enterprise?.idToken();
    case "loadTokens":
      return oauth?.tokenStore?.load();
    case "saveTokens":
      return oauth?.tokenStore?.save(params);
    case "clearTokens":
      return oauth?.tokenStore?.clear();
    default:
      throw new Error(`unknown request: ${kind}`);
  }
}

async function rootsOf({ roots = [] }: MCPClientConfig): Promise<object> {
  const given = typeof roots === "function" ? await roots() : roots;
  const uriOf = (root: string) =>
    /^[a-z][a-z\d+.-]+:/i.test(root) ? root : pathToFileURL(resolve(root)).href;
  return { roots: given.map((root) => ({ uri: uriOf(root), name: basename(root) })) };
}
