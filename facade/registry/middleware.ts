// The way of a call through the middleware of a registry.

import { kindOf } from "../border/text.js";
import { isResponseEnvelope, type ResponseEnvelope } from "../envelope.js";
import { type CallError, failed } from "../errors.js";
import type { OperationContext } from "../types.js";
import { alwaysEnforceAccess, carryVia, isFromOutside } from "./protocol-context.js";
import type { Middleware, MiddlewareAnswer, MiddlewareCall, MiddlewareNext } from "./watch-types.js";

/** Does what is left to do when every middleware has let a call pass. */
export type Innermost = (input: unknown, context: OperationContext) => Promise<MiddlewareAnswer>;

/** Sends a call through the middleware, the first one first. */
export function through(
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
    ...(context !== undefined && { context: inPlaceOf(call.context, context) }),
  };
}

/** A context that a middleware has made. A call that came from outside stays one: no context makes it trusted. */
function inPlaceOf(before: OperationContext, given: OperationContext): OperationContext {
  if (given === before) return given;
  let context = given;
  if (isFromOutside(before)) {
    if (given.trusted !== undefined && before.trusted !== true) {
      const { trusted: _, ...rest } = given;
      context = rest;
    }
    if (!alwaysEnforceAccess(context)) {
      context = { ...context };
      alwaysEnforceAccess(context);
    }
  }
  carryVia(before, context);
  return context;
}

/** What a middleware answered a call with; throws unless that is an envelope. */
export function envelopeFrom(operationId: string, answer: unknown): ResponseEnvelope {
  if (isResponseEnvelope(answer)) return answer;
  throw oddAnswer(operationId, answer, "an envelope");
}

/** What a middleware answered a subscription with; throws unless that is a stream. */
export function streamFrom(operationId: string, answer: unknown): AsyncIterator<unknown> {
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
