// Written for the TypeScript package: errors and the events of the call protocol.

import {
  buildCallHandler,
  CallError,
  type CallErrorCode,
  type CallEventMapValue,
  type CallRequestedEvent,
  type ErrorDefinition,
  InfrastructureErrorCode,
  mapError,
  OperationRegistry,
  PendingRequestMap,
} from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { StringSchema } from "../foreign-typebox.mjs";

// The schema of an error is whatever the application makes of it.
const definitions: ErrorDefinition[] = [
  {
    code: "NOT_THERE",
    description: "it is gone",
    schema: Type.Object({ id: Type.String() }),
    httpStatus: 404,
  },
  { code: "FORK", schema: StringSchema() },
  { code: "JSON", schema: { type: "object" } },
];
const schema: unknown = definitions[0]?.schema;
mapError(new Error("NOT_THERE"), definitions);
mapError(new Error("NOT_THERE"), [{ code: "NOT_THERE", description: "it is gone", schema }]);

// A code is a type as well as a value.
function isTimeout(error: CallError & { code: InfrastructureErrorCode.TIMEOUT }): string {
  return error.code;
}
const code: InfrastructureErrorCode.ABORTED = InfrastructureErrorCode.ABORTED;
const any: CallErrorCode = code;
void [isTimeout, any, new CallError(InfrastructureErrorCode.EXECUTION_ERROR, "x", { y: 1 })];
export function describe(code: InfrastructureErrorCode): string {
  switch (code) {
    case InfrastructureErrorCode.TIMEOUT:
      return "late";
    default:
      return code;
  }
}

// Any event of the protocol.
const seen: CallEventMapValue[] = [];
export function record(event: CallEventMapValue): string {
  seen.push(event);
  if ("operationId" in event) return event.operationId;
  if ("output" in event) return event.output.meta.source;
  return "code" in event ? event.code : event.requestId;
}
const callMap = new PendingRequestMap();
const handler = buildCallHandler({ registry: new OperationRegistry(), callMap });
callMap["call.requested"].subscribe(async (event: CallRequestedEvent) => {
  record(event);
  await handler(event);
});
callMap["call.error"].subscribe(record);
