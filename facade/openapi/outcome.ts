// What the native side says about a request, as envelopes and errors.

import type { HTTPResponseMeta, ResponseEnvelope } from "../envelope.js";
import { CallError } from "../errors.js";

/** The kinds of a result, as `src/completions.rs` numbers them. */
const JSON_BODY = 0;
const FAILED = 4;

/** The envelope of a response; throws what is none. */
export function toEnvelope(kind: number, about: string, body: unknown): ResponseEnvelope {
  if (kind === FAILED) throw toError(about, body);
  const meta = JSON.parse(about) as HTTPResponseMeta;
  if (kind === JSON_BODY) return { data: JSON.parse(body as string), meta };
  return { data: body ?? undefined, meta };
}

/** The error that the native side describes. Binary bodies, which JSON cannot carry, come beside it. */
export function toError(about: string, body: unknown): CallError {
  const { code, message, details } = JSON.parse(about);
  if (body != null && typeof details === "object" && details !== null) details.body = body;
  return new CallError(code, message, details);
}
