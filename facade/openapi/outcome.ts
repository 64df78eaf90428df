// What the native side says about a request, as an envelope.

import type { ResponseEnvelope } from "../envelope.js";
import { markAsSent } from "../registry/as-sent.js";

/** The envelope of a response. JSON has no word for the `data` of one without a body. A note says that the document does
 * not declare its type. */
export function toEnvelope(result: ResponseEnvelope): ResponseEnvelope {
  if (!("data" in result)) (result as ResponseEnvelope).data = undefined;
  if ("notes" in result.meta) markAsSent(result.meta);
  return result;
}
