// A model's call of a tool: its arguments, the operation, and the result for the model.

import type { ResponseEnvelope } from "../envelope.js";
import { isTimeout } from "../error-guards.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { nearestName } from "../interop/nearest-name.js";
import { type CallOrigin, TOOL } from "../registry/call.js";
import { offerEnv } from "../registry/offered-env.js";
import { copyForOutside } from "../registry/origin.js";
import type { OperationRegistry } from "../registry/registry.js";
import { type CallContext, type OperationContext, OperationType } from "../types.js";
import { type ResultForm, resultOf, resultOfError, type ToolResult } from "./result.js";
import type { ListedTool } from "./to-tools.js";

/** Events of a stream that become a result. */
export const MAX_EVENTS = 100;
/** How long a stream is listened to, in milliseconds: it may have nothing to say, and a model waits for it. */
const LISTEN_FOR = 30_000;

/** Calls an operation for a model. Never rejects. */
export async function callTool(
  registry: OperationRegistry,
  tool: Pick<ListedTool, "id" | "name" | "spec" | "projection">,
  input: unknown,
  context: CallContext,
  form: ResultForm,
): Promise<ToolResult> {
  try {
    const restored = argumentsOf(tool, input);
    // A model is never trusted, not even where the operation that runs it is.
    const given = copyForOutside(context);
    const origin: CallOrigin = { ...TOOL, via: { door: "tool", tool: tool.name } };
    if (given.env === undefined) offerEnv(registry, given);
    if (tool.spec.type === OperationType.SUBSCRIPTION) {
      return resultOf(
        await firstEvents(registry, tool.id, restored, given, form.maxResultBytes, origin),
        form,
      );
    }
    return resultOf(await registry.execute(tool.id, restored, given, origin), form);
  } catch (error) {
    return resultOfError(error, tool.spec, form, context);
  }
}

/** Arguments as a model gives them: an object, a text, or nothing. */
function argumentsOf({ projection }: Pick<ListedTool, "projection">, input: unknown): unknown {
  if (typeof input === "string") return projection.readArguments(input);
  return projection.restore(input ?? {});
}

/** A stream, which ends when it has been listened to for long enough. The context is the call's own, and gets a deadline. */
export async function* listened(
  registry: OperationRegistry,
  id: string,
  input: unknown,
  context: OperationContext,
  origin: CallOrigin = TOOL,
): AsyncGenerator<ResponseEnvelope> {
  const enough = Date.now() + LISTEN_FOR;
  const isOurs = !(Number(context.deadline) <= enough);
  if (isOurs) context.deadline = enough;
  try {
    yield* registry.subscribe(id, input, context, origin);
  } catch (error) {
    // What was said until then is the result.
    if (!(isOurs && isTimeout(error) && Date.now() >= enough)) throw error;
  }
}

/** What a stream says within the bounds of a result, as one envelope. The rest is not waited for. */
export async function firstEvents(
  registry: OperationRegistry,
  id: string,
  input: unknown,
  context: OperationContext,
  maxBytes: number,
  origin: CallOrigin = TOOL,
): Promise<ResponseEnvelope> {
  const events: unknown[] = [];
  let bytes = 0;
  let meta: ResponseEnvelope["meta"] = { source: "local", operationId: id, timestamp: Date.now() };
  for await (const envelope of listened(registry, id, input, context, origin)) {
    events.push(envelope.data);
    meta = envelope.meta;
    bytes += JSON.stringify(envelope.data)?.length ?? 0;
    if (events.length >= MAX_EVENTS || bytes >= maxBytes) break;
  }
  return { data: events, meta };
}

/** A name that no tool has. */
export function unknownTool(name: unknown, names: readonly string[], form: ResultForm): ToolResult {
  const nearest = nearestName(name, names);
  const known =
    names.length === 0
      ? "There are no tools."
      : nearest !== undefined
        ? `Did you mean ${nearest}?`
        : `The tools are: ${names.slice(0, 30).join(", ")}${names.length > 30 ? `, and ${names.length - 30} more` : ""}.`;
  const error = new CallError(
    InfrastructureErrorCode.OPERATION_NOT_FOUND,
    `There is no tool ${JSON.stringify(name)}. ${known}`,
  );
  return resultOfError(error, undefined, form);
}
