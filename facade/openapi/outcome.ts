// What the native side says about a request, as an envelope.

import type { ResponseEnvelope } from "../envelope.js";

/** The envelope of a response. JSON has no word for the `data` of one without a body. */
export function toEnvelope(result: ResponseEnvelope): ResponseEnvelope {
  if (!("data" in result)) (result as ResponseEnvelope).data = undefined;
  return result;
}
