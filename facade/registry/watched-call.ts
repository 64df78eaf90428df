// A call with those who watch around it: the report outermost, then the middleware, then the call itself.

import type { ResponseEnvelope } from "../envelope.js";
import type { OperationContext } from "../types.js";
import { isAhead, withinDeadline } from "./deadline.js";
import type { Entry } from "./entry.js";
import { envelopeFrom, through } from "./middleware.js";
import { Clocked, type Watch } from "./watch.js";
import type { MiddlewareCall } from "./watch-types.js";

/** Without `entry`, or where it cannot be called, no middleware is asked: `within` says what is wrong. */
export function watchedCall(
  watch: Watch,
  call: Omit<MiddlewareCall, "operation">,
  entry: Entry | undefined,
  within: (input: unknown, context: OperationContext) => Promise<ResponseEnvelope>,
  assertOutput?: (envelope: ResponseEnvelope) => void,
): Promise<ResponseEnvelope> {
  const { operationId, input, context, isServed } = call;
  const clocked = watch.isReporting
    ? new Clocked(watch, operationId, entry?.spec, "call", context, isServed)
    : undefined;
  const { middleware } = watch;
  const answer =
    middleware.length === 0 || entry === undefined || !entry.isCallable(false, isServed)
      ? within(input, context)
      : inTime(operationId, context, isServed, async (given) =>
          envelopeFrom(
            operationId,
            await through(middleware, { ...call, operation: entry.spec, context: given }, within),
          ),
        );
  if (clocked === undefined) return answer;
  const checked =
    assertOutput === undefined ? answer : answer.then((envelope) => sent(envelope, assertOutput));
  return checked.then(
    (envelope) => {
      clocked.answered(envelope);
      return envelope;
    },
    (error) => {
      clocked.failed(error);
      throw error;
    },
  );
}

function sent(envelope: ResponseEnvelope, assertOutput: (envelope: ResponseEnvelope) => void) {
  assertOutput(envelope);
  return envelope;
}

/** A middleware that waits for too long is ended too. The work within has a watch of its own, which knows more; whoever
 * serves a call sees to its deadline. */
function inTime(
  operationId: string,
  context: OperationContext,
  isServed: boolean,
  work: (context: OperationContext) => Promise<ResponseEnvelope>,
): Promise<ResponseEnvelope> {
  if (isServed || !isAhead(context.deadline)) return work(context);
  return withinDeadline(operationId, context as OperationContext & { deadline: number }, true, work);
}
