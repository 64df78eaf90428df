// What goes out with a call beside its input: its own headers, and the service's headers and credentials where those
// depend on the call.

import { callerTokenIn } from "../call/caller-token.js";
import type { OperationContext } from "../types.js";
import { callHeaders } from "./call-headers.js";
import type { HTTPAuth, HTTPOAuth } from "./config.js";
import { type CheckedConfig, checkedAuth, checkedHeaders, oauthOf } from "./config-check.js";

/** Whether every call runs the user's functions, so that none can be made without JavaScript. */
export function dependsOnCalls({ auth, headers }: CheckedConfig): boolean {
  return typeof auth === "function" || typeof headers === "function";
}

/** As `crates/operations-http/src/message/input.rs` reads it. */
export function outgoing(
  config: CheckedConfig,
  context: OperationContext | undefined,
  isServed: boolean,
): string | undefined | Promise<string> {
  const own = callHeaders(context, isServed);
  const token = oauthOf(config.auth)?.grant === "token_exchange" ? callerTokenIn(context) : undefined;
  if (dependsOnCalls(config)) return withCallOptions(config, context ?? {}, own, token);
  return token === undefined ? own : `[${own ?? "null"},null,null,${JSON.stringify(token)}]`;
}

async function withCallOptions(
  config: CheckedConfig,
  context: OperationContext,
  own: string | undefined,
  token: string | undefined,
): Promise<string> {
  const { auth, headers } = config;
  const [forHeaders, forAuth] = await Promise.all([
    typeof headers === "function" ? headers(context) : undefined,
    typeof auth === "function" ? auth(context) : undefined,
  ]);
  const parts = [
    forHeaders == null ? null : checkedHeaders(forHeaders),
    forAuth == null ? null : credentials(checkedAuth(forAuth, config)),
    token ?? null,
  ];
  return `[${own ?? "null"},${parts.map((part) => JSON.stringify(part)).join(",")}]`;
}

/** `null` without a token or a user name: the server decides about an anonymous call. */
export function credentials(auth: HTTPAuth | HTTPOAuth | undefined): HTTPAuth | null {
  if (auth?.type === "oauth2") return null;
  return auth?.token === undefined && auth?.username === undefined ? null : auth;
}
