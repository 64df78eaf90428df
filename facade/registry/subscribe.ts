import type { ResponseEnvelope } from "../envelope.js";
import type { OperationById, Signature, StreamId, Subscription } from "../operation-types.js";
import type { CallContext } from "../types.js";
import type { OperationRegistry } from "./registry.js";

/**
 * Calls a SUBSCRIPTION: an async generator of envelopes. Nothing happens before the first `next()`, and
 * nothing is fetched ahead of the consumer.
 *
 * @example
 * ```ts
 * for await (const { data } of subscribe(registry, "demo.ticks", { every: 1_000 }, { identity })) {
 *   console.log(data);
 * }
 * ```
 */
export function subscribe<
  TInput = unknown,
  TOutput = unknown,
  // biome-ignore lint/suspicious/noExplicitAny: a registry that knows nothing about the types of its operations
  TOperations = any,
  TId extends StreamId<TOperations> = StreamId<TOperations>,
  TOperation extends Signature = OperationById<TOperations, TId, Subscription<TInput, TOutput>>,
>(
  registry: OperationRegistry<TOperations>,
  operationId: TId,
  input: TOperation["input"],
  context: CallContext = {},
): AsyncGenerator<ResponseEnvelope<TOperation["output"]>, void, unknown> {
  return registry.subscribe<TInput, TOutput, TId, TOperation>(operationId, input, context);
}
