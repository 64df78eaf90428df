// Which credentials a document asks for, and which of them a configuration has.

import type { HTTPServiceConfig } from "./config.js";
import type { OpenAPIImportedOperation, OpenAPISecurity } from "./types.js";

/** As `crates/operations-openapi/src/security.rs` writes it. */
interface Hint {
  readonly scheme: string;
  readonly type: string;
  readonly in?: string;
  readonly name?: string;
  readonly httpScheme?: string;
  readonly scopes: readonly string[];
}

/** The schemes that operations ask for, the most frequent first. */
export function securityOf(
  operations: readonly OpenAPIImportedOperation[],
  config: Pick<HTTPServiceConfig, "auth" | "headers">,
): OpenAPISecurity[] {
  const found = new Map<string, OpenAPISecurity>();
  for (const { _meta } of operations) {
    const { security = [] } = Object(_meta) as { security?: readonly (readonly Hint[])[] };
    const hints = new Map(security.flat().map((hint) => [hint.scheme, hint]));
    for (const { scopes, ...hint } of hints.values()) {
      const known = found.get(hint.scheme);
      const entry = known ?? { ...hint, scopes: [], operations: 0, isAnswered: isAnswered(hint, config) };
      entry.operations += 1;
      for (const scope of scopes) if (!entry.scopes.includes(scope)) entry.scopes.push(scope);
      found.set(hint.scheme, entry);
    }
  }
  return [...found.values()].sort((one, other) => other.operations - one.operations);
}

function isAnswered(
  hint: Omit<Hint, "scopes">,
  { auth, headers }: Parameters<typeof securityOf>[1],
): boolean {
  // Functions decide with each call.
  if (typeof auth === "function" || typeof headers === "function") return true;
  const isKey = hint.type === "apiKey";
  const wanted = isKey && hint.in === "header" ? hint.name : isKey ? "Cookie" : "Authorization";
  const isWanted = (name: string) => name.toLowerCase() === wanted?.toLowerCase();
  const isInQuery = isKey && hint.in === "query";
  if (!isInQuery && hint.type !== "mutualTLS" && Object.keys(headers ?? {}).some(isWanted)) return true;
  if (auth === undefined) return false;
  if (auth.type === "apiKey")
    return isKey && hint.in === "header" && isWanted(auth.headerName ?? "X-API-Key");
  if (isKey) return hint.in === "header" && isWanted("Authorization");
  const isBasic = hint.type === "basic" || hint.httpScheme?.toLowerCase() === "basic";
  return auth.type === "basic" ? isBasic : !isBasic && hint.type !== "mutualTLS";
}
