// What an upstream server wanted its own client to keep is nothing that a caller from elsewhere may see. The native twin
// has the same rule (`crates/operations-http/src/client/handler.rs`).

import { isResponseEnvelope, type ResponseEnvelope } from "../envelope.js";

const COOKIES = ["set-cookie", "set-cookie2"];

/** The envelope as callers from elsewhere get it: the same one, unless it holds cookies. */
export function withoutCookies(envelope: ResponseEnvelope): ResponseEnvelope {
  const { meta } = envelope;
  if (meta.source !== "http") return envelope;
  const headers = clean(meta.headers);
  return headers === undefined ? envelope : { ...envelope, meta: { ...meta, headers } };
}

/** The same for the details of an error. */
export function detailsWithoutCookies(details: unknown): unknown {
  if (typeof details !== "object" || details === null) return details;
  let told: object = details;
  if ("headers" in details) {
    const headers = clean(details.headers);
    if (headers !== undefined) told = { ...told, headers };
  }
  // An answer that was refused because it is not as declared.
  if ("envelope" in details && isResponseEnvelope(details.envelope)) {
    const envelope = withoutCookies(details.envelope);
    if (envelope !== details.envelope) told = { ...told, envelope };
  }
  return told;
}

/** A copy without cookies; nothing if there are none. */
function clean(headers: unknown): Record<string, string> | undefined {
  if (typeof headers !== "object" || headers === null) return undefined;
  if (!COOKIES.some((name) => Object.hasOwn(headers, name))) return undefined;
  const kept = Object.entries(headers).filter(([name]) => !COOKIES.includes(name));
  return Object.fromEntries(kept) as Record<string, string>;
}
