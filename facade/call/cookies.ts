// Cookies of an upstream server are for its own client, not for remote callers. The native mirror
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
  let cleaned: object = details;
  if ("headers" in details) {
    const headers = clean(details.headers);
    if (headers !== undefined) cleaned = { ...cleaned, headers };
  }
  // An answer that was refused because it is not as declared.
  if ("envelope" in details && isResponseEnvelope(details.envelope)) {
    const envelope = withoutCookies(details.envelope);
    if (envelope !== details.envelope) cleaned = { ...cleaned, envelope };
  }
  return cleaned;
}

/** A copy without cookies; `undefined` if there are none. */
function clean(headers: unknown): Record<string, string> | undefined {
  if (typeof headers !== "object" || headers === null) return undefined;
  if (!COOKIES.some((name) => Object.hasOwn(headers, name))) return undefined;
  const kept = Object.entries(headers).filter(([name]) => !COOKIES.includes(name));
  return Object.fromEntries(kept) as Record<string, string>;
}
