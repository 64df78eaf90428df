import type { ResponseEnvelope } from "../envelope.js";
import type { EnvOf } from "../operation-types.js";
import { type CallContext, type OperationContext, type OperationEnv, OperationType } from "../types.js";
import type { OperationRegistry } from "./registry.js";

/** The part of a `PendingRequestMap` that composition needs. */
export interface CallMap {
  call(
    operationId: string,
    input: unknown,
    options: {
      parentRequestId?: string | undefined;
      identity?: OperationContext["identity"];
      deadline?: number | undefined;
    },
  ): Promise<ResponseEnvelope>;
}

// biome-ignore lint/suspicious/noExplicitAny: a registry that knows nothing about the types of its operations
export interface EnvOptions<TOperations = any> {
  registry: OperationRegistry<TOperations>;
  /** The context of the operation that will make the calls. */
  context: CallContext;
  /** Only these namespaces. */
  allowedNamespaces?: readonly string[] | undefined;
  /** Calls go through the call protocol, where access is checked again; without it they go straight to the registry, trusted. */
  callMap?: CallMap | undefined;
}

/**
 * The other operations, ready to be called by a handler: `env.namespace.name(input)`. Subscriptions are
 * left out.
 */
// biome-ignore lint/suspicious/noExplicitAny: a registry that knows nothing about the types of its operations
export function buildEnv<TOperations = any>({
  registry,
  context,
  allowedNamespaces,
  callMap,
}: EnvOptions<TOperations>): EnvOf<TOperations> {
  const call =
    callMap === undefined
      ? directly(registry, context as OperationContext)
      : through(callMap, context as OperationContext);
  // Without a prototype, so that `constructor` or `__proto__` are found only if there are such operations.
  const env: OperationEnv = Object.create(null);
  for (const { namespace, name, type } of registry.getAllSpecs()) {
    if (type === OperationType.SUBSCRIPTION) continue;
    if (allowedNamespaces !== undefined && !allowedNamespaces.includes(namespace)) continue;
    const id = `${namespace}.${name}`;
    env[namespace] ??= Object.create(null);
    (env[namespace] as OperationEnv[string])[name] = (input) => call(id, input);
  }
  return env as EnvOf<TOperations>;
}

type Call = (id: string, input: unknown) => Promise<ResponseEnvelope>;

/** The context is read at each call: by then it holds the environment itself, for calls further down. */
function directly(registry: OperationRegistry, context: OperationContext): Call {
  return (id, input) => registry.execute(id, input, { ...context, trusted: true });
}

/** Trust does not travel: on the other side the identity decides. */
function through(callMap: CallMap, { requestId, identity, deadline }: OperationContext): Call {
  return (id, input) => callMap.call(id, input, { parentRequestId: requestId, identity, deadline });
}
