// The events of the call protocol, and their schemas.

import { ResponseEnvelopeSchema } from "../envelope-schemas.js";
import type { ForBoth } from "../schema-types.js";
import { IdentitySchema } from "../spec-schemas.js";
import { Type } from "../type-builder.js";
import type { CallEventType } from "./event-types.js";

export type * from "./event-types.js";

export const CALL_EVENT_TYPES = [
  "call.requested",
  "call.responded",
  "call.completed",
  "call.aborted",
  "call.error",
] as const satisfies readonly CallEventType[];

const requestId = Type.String({ description: "Correlates the events of one call" });

const events = {
  "call.requested": Type.Object(
    {
      requestId,
      operationId: Type.String({ description: "namespace.name of the operation" }),
      input: Type.Unknown({ description: "What the operation takes" }),
      parentRequestId: Type.Optional(Type.String({ description: "Id of the call that made this one" })),
      deadline: Type.Optional(Type.Number({ description: "Absolute time in Unix milliseconds" })),
      idleTimeout: Type.Optional(
        Type.Number({ description: "Longest silence between events of a subscription, in milliseconds" }),
      ),
      identity: Type.Optional(IdentitySchema),
      metadata: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), { description: "Whatever the caller adds" }),
      ),
      trace: Type.Optional(
        Type.Object(
          {
            traceparent: Type.Optional(Type.String()),
            tracestate: Type.Optional(Type.String()),
            baggage: Type.Optional(Type.String()),
          },
          { description: "The trace that the call belongs to" },
        ),
      ),
    },
    { description: "A caller calls an operation" },
  ),
  "call.responded": Type.Object(
    { requestId, output: ResponseEnvelopeSchema },
    { description: "A result: one for a call, many for a subscription" },
  ),
  "call.completed": Type.Object({ requestId }, { description: "A subscription has ended" }),
  "call.aborted": Type.Object({ requestId }, { description: "One side has ended the call" }),
  "call.error": Type.Object(
    {
      requestId,
      code: Type.String({ description: "Code of the error" }),
      message: Type.String({ description: "What failed" }),
      details: Type.Optional(Type.Unknown({ description: "Anything that helps a program react" })),
      isInternal: Type.Optional(
        Type.Boolean({ description: "Whether the message was not written for the caller" }),
      ),
    },
    { description: "A call has failed" },
  ),
};

/**
 * The TypeBox schema of each event's payload.
 *
 * @example
 * ```ts
 * Value.Check(CallEventMap["call.requested"], message);
 * ```
 */
export const CallEventMap: { [Event in keyof typeof events]: ForBoth<(typeof events)[Event]> } = events;

/**
 * The same as `CallEventMap`, under its older name.
 *
 * @example
 * ```ts
 * Value.Check(CallEventSchema["call.error"], message);
 * ```
 */
export const CallEventSchema = CallEventMap;
