// The status that a call over HTTP is answered with. The door decides it when the span has ended already, by the same rules.

import { messageOf } from "../interop/text.js";
import { logger } from "../logging.js";
import { identityIn } from "../registry/authorise.js";
import type { Via } from "../registry/call.js";
import { declaredErrors } from "../registry/describe-operation.js";
import type { MiddlewareCall } from "../registry/observer-types.js";
import { native, runtime } from "../runtime.js";
import type { Ended } from "./describe.js";

const log = logger("otel");

/** Nothing where the connection is closed without an answer. */
export function answeredStatus(call: MiddlewareCall, via: Via, ended: Ended): number | undefined {
  const { error, events } = ended;
  // An event stream has its status when its first event is there.
  const isOpen = events !== undefined && (events > 0 || error === undefined);
  if (isOpen) return native.httpStatusOfAnswer(undefined, false, true);
  if (error === undefined) {
    const hasContent = ended.hasData === true || via.wantsEnvelope === true;
    return native.httpStatusOfAnswer(ended.statusCode, ended.isToolError === true, hasContent);
  }
  try {
    const { code, message, details } = error;
    const declared = JSON.stringify(declaredErrors(call.operation));
    const hasIdentity = identityIn(call.context) !== undefined;
    const text = JSON.stringify({ code, message, details });
    return native.httpStatusOfFailure(runtime, text, declared, hasIdentity) ?? undefined;
  } catch (failure) {
    // Details may be anything, also what no JSON can hold.
    log.debug(`The status of a failed call is not known: ${messageOf(failure)}`);
    return undefined;
  }
}
