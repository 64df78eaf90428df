// What goes out with a call beside its input: its own headers, and the service's headers and credentials where those
// depend on the call.

import type { OperationContext } from "../types.js";
import { callHeaders } from "./call-headers.js";
import type { HTTPAuth } from "./config.js";
import { type CheckedConfig, checkedAuth, checkedHeaders } from "./config-check.js";

/** Whether every call asks the user's functions, so that none can be made without JavaScript. */
export function dependsOnCalls({ auth, headers }: CheckedConfig): boolean {
  return typeof auth === "function" || typeof headers === "function";
}

/** As `crates/operations-http/src/message/input.rs` reads it. */
export function outgoing(
  config: CheckedConfig,
  context: OperationContext | undefined,
): string | undefined | Promise<string> {
  const own = callHeaders(context);
  return dependsOnCalls(config) ? asked(config, context ?? {}, own) : own;
}

async function asked(
  config: CheckedConfig,
  context: OperationContext,
  own: string | undefined,
): Promise<string> {
  const { auth, headers } = config;
  const [forHeaders, forAuth] = await Promise.all([
    typeof headers === "function" ? headers(context) : undefined,
    typeof auth === "function" ? auth(context) : undefined,
  ]);
  const parts = [
    forHeaders == null ? null : checkedHeaders(forHeaders),
    forAuth == null ? null : credentials(checkedAuth(forAuth, config)),
  ];
  return `[${own ?? "null"},${parts.map((part) => JSON.stringify(part)).join(",")}]`;
}

/** Nothing where there is nothing to show: an anonymous call is the server's to judge. */
export function credentials(auth: HTTPAuth | undefined): HTTPAuth | null {
  return auth?.token === undefined && auth?.username === undefined ? null : auth;
}
