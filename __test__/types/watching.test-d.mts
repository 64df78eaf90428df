// Those who watch a registry: what they are told, and what they may return.

import {
  type AccessReport,
  type CallReport,
  createRegistry,
  localEnvelope,
  type Middleware,
  OperationRegistry,
  type OperationSpec,
  type ResponseEnvelope,
} from "@alkdev/operations";
import { expectTypeOf } from "expect-type";

const registry = new OperationRegistry();

const remove = registry.use(async (call, next) => {
  expectTypeOf(call.kind).toEqualTypeOf<"call" | "subscription">();
  expectTypeOf(call.input).toEqualTypeOf<unknown>();
  expectTypeOf(call.operation).toEqualTypeOf<OperationSpec>();
  expectTypeOf(call.context.requestId).toEqualTypeOf<string | undefined>();
  const answer = await next({ context: { ...call.context, metadata: { tenant: "acme" } } });
  if (Symbol.asyncIterator in answer) {
    expectTypeOf(answer).toEqualTypeOf<AsyncIterable<ResponseEnvelope>>();
    return answer;
  }
  expectTypeOf(answer).toEqualTypeOf<ResponseEnvelope>();
  return answer;
});
expectTypeOf(remove).toEqualTypeOf<() => void>();

// What is not asynchronous will do.
const kept: Middleware = (call, next) =>
  call.operationId === "a.b" ? localEnvelope(1, call.operationId) : next();
registry.use(kept);
// A registry that knows its operations has middleware too.
createRegistry([]).use(kept);
// @ts-expect-error an envelope is needed
registry.use(() => "no envelope");
registry.use((call, next) => {
  // @ts-expect-error the call cannot be changed in place
  call.input = 1;
  return next();
});

const stop = registry.on("call", (report) => expectTypeOf(report).toEqualTypeOf<CallReport>());
expectTypeOf(stop).toEqualTypeOf<() => void>();
registry.on("denied", (report) => expectTypeOf(report).toEqualTypeOf<AccessReport>());
registry.on("registered", ({ operation }) => expectTypeOf(operation).toEqualTypeOf<OperationSpec>());
registry.on("unregistered", ({ operationId }) => expectTypeOf(operationId).toEqualTypeOf<string>());
// @ts-expect-error there is no such event
registry.on("calls", () => {});
registry.audit((report) => expectTypeOf(report).toEqualTypeOf<AccessReport>());
