// A model's call of a tool: its arguments, the operation, and what the model is told.

import type { ResponseEnvelope } from "../envelope.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { offerEnv } from "../registry/offered-env.js";
import { alwaysEnforceAccess, markVia } from "../registry/protocol-context.js";
import type { OperationRegistry } from "../registry/registry.js";
import { subscribe } from "../registry/subscribe.js";
import { type CallContext, type OperationContext, OperationType } from "../types.js";
import { type ResultForm, resultOf, resultOfError, type ToolResult } from "./result.js";
import type { ListedTool } from "./to-tools.js";

/** Events of a stream that become a result. */
export const MAX_EVENTS = 100;

/** Calls an operation for a model. Never rejects. */
export async function callTool(
  registry: OperationRegistry,
  tool: Pick<ListedTool, "id" | "spec" | "projection">,
  input: unknown,
  context: CallContext,
  form: ResultForm,
): Promise<ToolResult> {
  try {
    const restored = argumentsOf(tool, input);
    // A copy: a model is never trusted for being called directly, and the user's own context stays unmarked.
    const given = { ...context } as OperationContext;
    alwaysEnforceAccess(given);
    markVia(given, { door: "tool" });
    if (given.env === undefined) offerEnv(registry, given);
    if (tool.spec.type === OperationType.SUBSCRIPTION) {
      return resultOf(await firstEvents(registry, tool.id, restored, given, form.maxResultBytes), form);
    }
    return resultOf(await registry.execute(tool.id, restored, given), form);
  } catch (error) {
    return resultOfError(error, tool.spec, form);
  }
}

/** Arguments as a model gives them: an object, a text, or nothing. */
function argumentsOf({ projection }: Pick<ListedTool, "projection">, input: unknown): unknown {
  if (typeof input === "string") return projection.readArguments(input);
  return projection.restore(input ?? {});
}

/** What a stream says within the bounds of a result, as one envelope. The rest is not waited for. */
export async function firstEvents(
  registry: OperationRegistry,
  id: string,
  input: unknown,
  context: OperationContext,
  maxBytes: number,
): Promise<ResponseEnvelope> {
  const events: unknown[] = [];
  let bytes = 0;
  let meta: ResponseEnvelope["meta"] = { source: "local", operationId: id, timestamp: Date.now() };
  for await (const envelope of subscribe(registry, id, input, context)) {
    events.push(envelope.data);
    meta = envelope.meta;
    bytes += JSON.stringify(envelope.data)?.length ?? 0;
    if (events.length >= MAX_EVENTS || bytes >= maxBytes) break;
  }
  return { data: events, meta };
}

/** A name that no tool has. */
export function unknownTool(name: unknown, names: readonly string[], form: ResultForm): ToolResult {
  const some = names.slice(0, 30).join(", ");
  const more = names.length > 30 ? `, and ${names.length - 30} more` : "";
  const known = names.length === 0 ? "There are no tools." : `The tools are: ${some}${more}.`;
  const error = new CallError(
    InfrastructureErrorCode.OPERATION_NOT_FOUND,
    `There is no tool ${JSON.stringify(name)}. ${known}`,
  );
  return resultOfError(error, undefined, form);
}
