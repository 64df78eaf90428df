import {
  CallError,
  type CallErrorCode,
  httpEnvelope,
  InfrastructureErrorCode,
  isAccessError,
  isHTTPError,
  isResponseEnvelope,
  isRetryable,
  isTimeout,
  isValidationError,
  localEnvelope,
  type MCPContentBlock,
  mapError,
  mcpEnvelope,
  type ResponseEnvelope,
  type ResponseEnvelopeSchema,
  type ResponseMeta,
  type ResponseSource,
  unwrap,
} from "@alkdev/operations";
import type { Static } from "@sinclair/typebox";
import { expectTypeOf } from "expect-type";

// Factories keep the type of the data.
const envelope = localEnvelope({ id: 1 }, "a.b");
expectTypeOf(envelope).toEqualTypeOf<ResponseEnvelope<{ id: number }>>();
expectTypeOf(unwrap(envelope)).toEqualTypeOf<{ id: number }>();
expectTypeOf(localEnvelope(undefined, "a.b").data).toEqualTypeOf<undefined>();
httpEnvelope("x", { statusCode: 200, headers: {}, contentType: "text/plain" });
mcpEnvelope([], { isError: false, content: [{ type: "text", text: "x" }] });
const ok = httpEnvelope("x", { statusCode: 200, headers: {}, contentType: "text/plain" });
expectTypeOf(ok.meta.statusCode).toEqualTypeOf<number>();
expectTypeOf(mcpEnvelope([], { isError: false, content: [] }).meta.isError).toEqualTypeOf<boolean>();
export const wide: ResponseEnvelope<string> = ok;
// @ts-expect-error headers are required
httpEnvelope("x", { statusCode: 200, contentType: "text/plain" });
// @ts-expect-error there is no such block
mcpEnvelope([], { isError: false, content: [{ type: "video", data: "" }] });

// meta narrows on its source.
declare const meta: ResponseMeta;
switch (meta.source) {
  case "local":
    expectTypeOf(meta.operationId).toEqualTypeOf<string>();
    break;
  case "http":
    expectTypeOf(meta.headers).toEqualTypeOf<Record<string, string>>();
    expectTypeOf(meta.sse?.event).toEqualTypeOf<string | undefined>();
    break;
  case "mcp":
    expectTypeOf(meta.content).toEqualTypeOf<MCPContentBlock[]>();
    break;
  default:
    expectTypeOf(meta).toEqualTypeOf<never>();
}
expectTypeOf<ResponseSource>().toEqualTypeOf<"local" | "http" | "mcp">();

// The guard narrows.
declare const something: unknown;
if (isResponseEnvelope(something)) expectTypeOf(something).toEqualTypeOf<ResponseEnvelope>();

// Blocks narrow on their type.
declare const block: MCPContentBlock;
if (block.type === "resource_link") expectTypeOf(block.size).toEqualTypeOf<number | undefined>();
if (block.type === "resource") expectTypeOf(block.resource.uri).toEqualTypeOf<string>();

// Errors.
const error = new CallError(InfrastructureErrorCode.TIMEOUT, "too late", { deadline: 1 });
expectTypeOf(error.code).toEqualTypeOf<CallErrorCode>();
expectTypeOf(error.details).toEqualTypeOf<unknown>();
new CallError("ANY_STRING", "is a legal code");
expectTypeOf(mapError(something)).toEqualTypeOf<CallError>();
mapError(something, [{ code: "A", description: "b" }]);
export const code: InfrastructureErrorCode = "ABORTED";
// @ts-expect-error not a code of ours
export const notOurs: InfrastructureErrorCode = "ANY_STRING";

// Their details narrow.
if (isHTTPError(something)) expectTypeOf(something.details.statusCode).toEqualTypeOf<number>();
if (isValidationError(something))
  expectTypeOf(something.details.errors[0]?.path).toEqualTypeOf<string | undefined>();
if (isAccessError(something))
  expectTypeOf(something.details.missingScopes).toEqualTypeOf<string[] | undefined>();
if (isTimeout(something)) {
  expectTypeOf(something.details.deadline).toEqualTypeOf<number | undefined>();
  expectTypeOf(something.details.timeout).toEqualTypeOf<number | undefined>();
  expectTypeOf(something.details.host).toEqualTypeOf<string | undefined>();
  expectTypeOf(something.details.delivery).toEqualTypeOf<"none" | "unknown" | "done" | undefined>();
}
expectTypeOf(isRetryable(something)).toEqualTypeOf<boolean>();

// The constants are TypeBox schemas with static types.
type Envelope = Static<typeof ResponseEnvelopeSchema>;
expectTypeOf<Envelope["data"]>().toEqualTypeOf<unknown>();
expectTypeOf<Envelope["meta"]["source"]>().toEqualTypeOf<ResponseSource>();
