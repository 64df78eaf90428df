import type { ResponseEnvelope } from "../envelope.js";
import type { EnvOf } from "../operation-types.js";
import { type CallContext, type OperationContext, type OperationEnv, OperationType } from "../types.js";
import { isNear, operationNotFound } from "./nearest.js";
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

/**
 * What `buildEnv` needs: whose operations, and on whose behalf.
 *
 * @example
 * ```ts
 * const options: EnvOptions = { registry, context: { identity }, allowedNamespaces: ["tasks"] };
 * ```
 */
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
 *
 * @example
 * ```ts
 * const env = buildEnv({ registry, context: { identity } });
 * const { data } = await env.demo!.greet!({ name: "Ada" });
 * ```
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
      ? directly(registry, context as OperationContext, true)
      : through(callMap, context as OperationContext);
  // To the call protocol there is no such operation as an internal one.
  const callInternal = callMap === undefined ? call : directly(registry, context as OperationContext, false);
  // Without a prototype, so that `constructor` or `__proto__` are found only if there are such operations.
  const env: OperationEnv = Object.create(null);
  for (const { namespace, name, type, visibility } of registry.getAllSpecs()) {
    if (type === OperationType.SUBSCRIPTION) continue;
    if (allowedNamespaces !== undefined && !allowedNamespaces.includes(namespace)) continue;
    const id = `${namespace}.${name}`;
    env[namespace] ??= namespaceObject(namespace);
    const callThis = visibility === "internal" ? callInternal : call;
    (env[namespace] as OperationEnv[string])[name] = (input) => callThis(id, input);
  }
  return env as EnvOf<TOperations>;
}

/** An object for the functions of a namespace. A name that is nearly one of them is an error that says so; any other is
 * `undefined`, as tools expect that print or compare values. The look-up reaches the prototype only for what is not
 * there, so that the functions themselves cost nothing more. */
function namespaceObject(namespace: string): OperationEnv[string] {
  const functions: OperationEnv[string] = Object.create(
    new Proxy(Object.create(null), {
      get(_, name) {
        if (typeof name === "symbol" || name === "then" || name in Object.prototype) return undefined;
        const ids = Object.keys(functions).map((each) => `${namespace}.${each}`);
        const error = operationNotFound(`${namespace}.${name}`, ids);
        if (isNear(error)) throw error;
        return undefined;
      },
    }),
  );
  return functions;
}

type Call = (id: string, input: unknown) => Promise<ResponseEnvelope>;

/** The context is read at each call: by then it holds the environment itself, for calls further down. */
function directly(registry: OperationRegistry, context: OperationContext, trusted: boolean): Call {
  return (id, input) => registry.execute(id, input, { ...context, trusted });
}

/** Trust does not travel: on the other side the identity decides. */
function through(callMap: CallMap, { requestId, identity, deadline }: OperationContext): Call {
  return (id, input) => callMap.call(id, input, { parentRequestId: requestId, identity, deadline });
}
