// A catalogue as three operations, for a model that cannot be given ten thousand tools.

import { CallError, InfrastructureErrorCode, invalid, isInternal, mapError } from "../errors.js";
import { TOOL } from "../registry/call.js";
import { addTraits } from "../registry/handler-traits.js";
import { operationNotFound } from "../registry/nearest.js";
import { offerEnv } from "../registry/offered-env.js";
import { copyForOutside } from "../registry/origin.js";
import type { OperationRegistry } from "../registry/registry.js";
import { Type } from "../type-builder.js";
import {
  type CallerIdentity,
  type Identity,
  type IOperationDefinition,
  type OperationContext,
  type OperationSpec,
  OperationType,
} from "../types.js";
import { firstEvents } from "./call.js";
import type { SearchedRegistry, SeenBy } from "./catalogue.js";
import { projectionOf } from "./projection.js";
import { mayCall } from "./selection.js";
import { isShown } from "./shown.js";

/**
 * `search`, `describe` and `call`, in this order.
 *
 * @example
 * ```ts
 * const three: CatalogueOperations = catalogue(registry, { identity }).asOperations();
 * const forModel = new OperationRegistry();
 * forModel.registerAll(three);
 * const { tools, call } = toTools(forModel, { target: "anthropic", identity });
 * ```
 */
export type CatalogueOperations = [
  search: IOperationDefinition,
  describe: IOperationDefinition,
  call: IOperationDefinition,
];

/** Characters of a description in a list of hits. */
const MAX_DESCRIPTION = 240;
/** Bytes of the events of a stream that become one result. */
const MAX_STREAM_BYTES = 262_144;

const ID = Type.String({ description: "The id of an operation, as search gives it" });

export function operationsOf(
  searched: SearchedRegistry,
  registry: OperationRegistry,
  identity: CallerIdentity | undefined,
  namespace: string,
  isOffered: SeenBy = () => true,
): CatalogueOperations {
  const callerOf = (context: OperationContext) => context.identity ?? identity;
  /** What callers are shown is what they may call: without an identity, what is open to everyone. */
  const seenBy = (context: OperationContext): SeenBy => {
    const caller = callerOf(context);
    return (entry) => isOffered(entry) && mayCall(entry, caller);
  };
  const notFound = (id: string, context: OperationContext): CallError => {
    const isSeen = seenBy(context);
    const ids = Array.from(registry.entries()).filter((entry) => isShown(entry) && isSeen(entry));
    return operationNotFound(
      id,
      ids.map((entry) => entry.id),
    );
  };
  const shared = { namespace, version: "1.0.0", accessControl: { requiredScopes: [] } };

  const search: IOperationDefinition = {
    ...shared,
    name: "search",
    type: OperationType.QUERY,
    description:
      "Finds operations by what they do, in plain words. Gives ids, what each does, and the names of its parameters " +
      "(optional ones end with a question mark).",
    inputSchema: Type.Object({
      query: Type.String({ description: "What you want to do, such as: add a label to an issue" }),
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 50, description: "How many at most. 10 if left out" }),
      ),
    }),
    outputSchema: Type.Unknown(),
    handler: ({ query, limit }: { query: string; limit?: number }, context: OperationContext) =>
      searched
        .search(query, limit === undefined ? {} : { limit }, seenBy(context))
        .map(({ id, type, title, description, parameters }) => ({
          id,
          type,
          description: shortened(title === undefined ? description : `${title}. ${description}`),
          parameters,
        })),
  };

  const describe: IOperationDefinition = {
    ...shared,
    name: "describe",
    type: OperationType.QUERY,
    description: "Tells what an operation takes and gives, as a TypeScript declaration.",
    inputSchema: Type.Object({
      id: ID,
      schemas: Type.Optional(
        Type.Boolean({ description: "Give the JSON schemas as well. They may be long" }),
      ),
    }),
    outputSchema: Type.Unknown(),
    handler: ({ id, schemas }: { id: string; schemas?: boolean }, context: OperationContext) => {
      const found = searched.describe(id, seenBy(context));
      if (found === undefined) throw notFound(id, context);
      const { inputSchema, outputSchema, ...rest } = found;
      return schemas === true ? { ...rest, inputSchema, outputSchema } : rest;
    },
  };

  const call: IOperationDefinition = {
    ...shared,
    name: "call",
    type: OperationType.MUTATION,
    description:
      "Calls an operation and gives its result. Look at describe first, unless you know its input.",
    inputSchema: Type.Object({
      id: ID,
      input: Type.Optional(
        Type.Unknown({ description: "The input of the operation: an object, as describe shows it" }),
      ),
    }),
    outputSchema: Type.Unknown(),
    handler: async ({ id, input }: { id: string; input?: unknown }, context: OperationContext) => {
      const entry = registry.entry(id);
      if (entry === undefined || !isShown(entry) || !seenBy(context)(entry))
        throw notRun(notFound(id, context), id);
      // Whatever was found, the call itself checks access again, `customAuth` too.
      const forCall = copyForOutside(context);
      const caller = callerOf(context);
      if (caller !== undefined) forCall.identity = caller as Identity;
      // Of this registry, which may be another than the one that these three are called in.
      offerEnv(registry, forCall);
      try {
        const read = inputOf(input, entry.spec);
        if (entry.isSubscription) return await firstEvents(registry, id, read, forCall, MAX_STREAM_BYTES);
        return await registry.execute(id, read, forCall, TOOL);
      } catch (error) {
        throw notRun(asDeclared(error, entry.spec), id);
      }
    },
  };

  const three: CatalogueOperations = [search, describe, call];
  for (const { handler } of three) addTraits(handler, { isCatalogue: true });
  return three;
}

/** An error that the operation declares is a declared error for the caller of this one, too. */
function asDeclared(error: unknown, { errorSchemas }: OperationSpec): unknown {
  const mapped = mapError(error, errorSchemas);
  return isInternal(mapped) || mapped.code === InfrastructureErrorCode.UNKNOWN_ERROR ? error : mapped;
}

/** What has refused a call before anything was done says so: to the server of this operation, it is the handler that has failed.
 * `crates/operations-serve/src/failure.rs` does the same for errors about its own operations. */
function notRun(error: unknown, id: string): unknown {
  if (!(error instanceof CallError)) return error;
  const { code, message, details } = error;
  const isRefusal =
    code === InfrastructureErrorCode.VALIDATION_ERROR
      ? message.startsWith(`Validation failed for input of operation ${id}:`)
      : (code === InfrastructureErrorCode.OPERATION_NOT_FOUND ||
          code === InfrastructureErrorCode.ACCESS_DENIED) &&
        Object(details).operationId === id;
  if (!isRefusal || Object(details).delivery !== undefined) return error;
  return new CallError(code, message, { ...Object(details), delivery: "none" });
}

/** Some models write the input as text. */
function inputOf(input: unknown, spec: IOperationDefinition | Parameters<typeof projectionOf>[0]): unknown {
  if (input === undefined) return {};
  if (typeof input !== "string" || !/^\s*[[{]/.test(input)) return input;
  const projection = projectionOf(spec, "inputSchema", "json-schema");
  if ("readArguments" in projection) return projection.readArguments(input);
  throw invalid(`The input schema of the operation cannot be used: ${projection.message}`);
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > MAX_DESCRIPTION ? `${[...line].slice(0, MAX_DESCRIPTION - 1).join("")}…` : line;
}
