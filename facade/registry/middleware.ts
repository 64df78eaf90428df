// How a call passes through the middleware of a registry.

import { isResponseEnvelope, type ResponseEnvelope } from "../envelope.js";
import { type CallError, failed } from "../errors.js";
import { kindOf } from "../interop/text.js";
import type { OperationContext } from "../types.js";
import type { Call } from "./call.js";
import type { Entry } from "./entry.js";
import type { Middleware, MiddlewareAnswer, MiddlewareCall, MiddlewareNext } from "./observer-types.js";
import { replaceContext } from "./origin.js";

/** Runs the rest of a call, after the last middleware. */
export type Innermost = (input: unknown, context: OperationContext) => Promise<MiddlewareAnswer>;

/** A call, as middleware sees it. */
export function asMiddlewareCall(
  { id, kind, input, context, origin }: Call,
  { spec }: Entry,
): MiddlewareCall {
  const { isServed, via } = origin;
  return { operationId: id, operation: spec, kind, isServed, input, context, ...(via && { via }) };
}

/** Passes a call through the middleware, the first one first. */
export function passThrough(
  middleware: readonly Middleware[],
  call: MiddlewareCall,
  innermost: Innermost,
): Promise<MiddlewareAnswer> {
  const pass = (index: number, now: MiddlewareCall): Promise<MiddlewareAnswer> => {
    const current = middleware[index];
    if (current === undefined) return innermost(now.input, now.context);
    const next: MiddlewareNext = (changes) => pass(index + 1, changed(now, changes));
    try {
      return Promise.resolve(current(now, next));
    } catch (error) {
      return Promise.reject(error);
    }
  };
  return pass(0, call);
}

function changed(call: MiddlewareCall, changes: Parameters<MiddlewareNext>[0]): MiddlewareCall {
  if (changes === undefined) return call;
  const { context } = changes;
  return {
    ...call,
    ...("input" in changes && { input: changes.input }),
    ...(context !== undefined && { context: replaceContext(call.context, context) }),
  };
}

/** The answer of a middleware to a call; throws unless it is an envelope. */
export function assertEnvelope(operationId: string, answer: unknown): ResponseEnvelope {
  if (isResponseEnvelope(answer)) return answer;
  throw oddAnswer(operationId, answer, "an envelope");
}

/** The answer of a middleware to a subscription; throws unless it is a stream. */
export function assertStream(operationId: string, answer: unknown): AsyncIterator<unknown> {
  const make: unknown = Object(answer)[Symbol.asyncIterator];
  if (typeof make === "function") return make.call(answer) as AsyncIterator<unknown>;
  throw oddAnswer(operationId, answer, "an async iterable of envelopes");
}

function oddAnswer(operationId: string, answer: unknown, wanted: string): CallError {
  return failed(
    `A middleware answered the call of ${operationId} with ${kindOf(answer)}, not with ${wanted}: ` +
      "return what next() resolves to",
    { operationId },
  );
}
