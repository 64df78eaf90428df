import type { ResponseEnvelope } from "../envelope.js";
import type { CallError } from "../errors.js";
import {
  aList,
  anObject,
  checkedOptions,
  type Fields,
  isFunction,
  must,
  required,
} from "../interop/options.js";
import type { EnvOf } from "../operation-types.js";
import {
  type CallContext,
  type OperationContext,
  type OperationEnv,
  type OperationSpec,
  OperationType,
} from "../types.js";
import { isNear, namespaceNotFound, operationNotFound } from "./nearest.js";
import { seenBy } from "./not-callable.js";
import { isForOutside, markEnv } from "./origin.js";
import type { OperationRegistry } from "./registry.js";

/**
 * The part of a `PendingRequestMap` that composition needs.
 *
 * @example
 * ```ts
 * const callMap: CallMap = new PendingRequestMap(createPortEventTarget(port));
 * const env = buildEnv({ registry, context: { identity }, callMap });
 * ```
 */
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
 * Options of `buildEnv`.
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
  /** Only operations of these namespaces. */
  allowedNamespaces?: readonly string[] | undefined;
  /**
   * Sends calls through the call protocol, where access is checked again. Without it, calls go directly to the registry
   * and are trusted.
   */
  callMap?: CallMap | undefined;
}

const FIELDS: Fields<EnvOptions> = {
  registry: required(must("an OperationRegistry", (value) => isFunction(Object(value).getAllSpecs))),
  context: required(anObject),
  allowedNamespaces: aList,
  callMap: must("a call map, such as a PendingRequestMap", (value) => isFunction(Object(value).call)),
};

/**
 * Operations as functions, for handlers: `env.namespace.name(input)`. Subscriptions are left out.
 *
 * @example
 * ```ts
 * const env = buildEnv({ registry, context: { identity } });
 * const { data } = await env.demo!.greet!({ name: "Ada" });
 * ```
 */
// biome-ignore lint/suspicious/noExplicitAny: a registry that knows nothing about the types of its operations
export function buildEnv<TOperations = any>(options: EnvOptions<TOperations>): EnvOf<TOperations> {
  const { registry, context, allowedNamespaces, callMap } = checkedOptions<EnvOptions<TOperations>>(
    options,
    FIELDS,
    { prefix: "buildEnv: " },
  );
  const call =
    callMap === undefined
      ? directly(registry, context as OperationContext, true)
      : through(callMap, registry, context as OperationContext);
  // To the call protocol there is no such operation as an internal one.
  const callInternal = callMap === undefined ? call : directly(registry, context as OperationContext, false);
  const seen = () => idsSeen(registry, context as OperationContext);
  const env: OperationEnv = withHints((name, names) => {
    const ids = seen();
    const isSeen = (namespace: string) => ids.some((id) => id.startsWith(`${namespace}.`));
    return namespaceNotFound(name, names.filter(isSeen));
  });
  for (const { namespace, name, type, visibility } of registry.getAllSpecs()) {
    if (type === OperationType.SUBSCRIPTION) continue;
    if (allowedNamespaces !== undefined && !allowedNamespaces.includes(namespace)) continue;
    const id = `${namespace}.${name}`;
    if (!Object.hasOwn(env, namespace)) define(env, namespace, namespaceObject(namespace, seen));
    const callThis = visibility === "internal" ? callInternal : call;
    define(env[namespace] as OperationEnv[string], name, (input) => callThis(id, input));
  }
  markEnv(env, context as OperationContext);
  return env as EnvOf<TOperations>;
}

/** The operations that another one declares to use. One that is not registered is an error when it is called. */
export function usedEnv(
  uses: Exclude<NonNullable<OperationSpec["uses"]>, true>,
  context: OperationContext,
  call: Call,
): OperationEnv {
  const env: OperationEnv = Object.create(null);
  for (const [namespace, operations] of Object.entries(uses)) {
    const functions: OperationEnv[string] = Object.create(null);
    for (const name of Object.keys(operations)) {
      define(functions, name, (input) => call(`${namespace}.${name}`, input));
    }
    define(env, namespace, functions);
  }
  markEnv(env, context);
  return env;
}

/** Defined, not assigned: whether a name is there already is not to be asked. */
function define<T>(object: Record<string, T>, name: string, value: T): void {
  Object.defineProperty(object, name, { value, configurable: true, enumerable: true, writable: true });
}

/** The functions of a namespace. */
function namespaceObject(namespace: string, seen: () => readonly string[]): OperationEnv[string] {
  return withHints((name, names) => {
    const ids = new Set(seen());
    const own = names.map((each) => `${namespace}.${each}`);
    return operationNotFound(
      `${namespace}.${name}`,
      own.filter((id) => ids.has(id)),
    );
  });
}

/** The operations that a hint may name: a handler may pass the error on to the caller that it serves. */
function idsSeen(registry: OperationRegistry, context: OperationContext): string[] {
  const isSeen = isForOutside(context) ? seenBy(context) : () => true;
  return Array.from(registry.entries())
    .filter(isSeen)
    .map(({ id }) => id);
}

/** An object on which a name that is nearly one of its own is an error that says so; any other is `undefined`, as programs
 * expect that ask whether something is there, and tools that print or compare values. It has no prototype of the usual
 * kind, so that `constructor` or `__proto__` are found only if there are such operations; and the look-up reaches the one that
 * it has only for what is not there, so that what is there costs nothing more. */
function withHints<T extends object>(notFound: (name: string, names: readonly string[]) => CallError): T {
  const own: T = Object.create(
    new Proxy(Object.create(null), {
      get(_, name) {
        if (typeof name === "symbol" || name === "then" || name in Object.prototype) return undefined;
        const error = notFound(name, Object.keys(own));
        if (isNear(error)) throw error;
        return undefined;
      },
    }),
  );
  return own;
}

type Call = (id: string, input: unknown) => Promise<ResponseEnvelope>;

/** The context is read at each call: by then it holds the environment itself, for calls further down. */
function directly(registry: OperationRegistry, context: OperationContext, trusted: boolean): Call {
  return (id, input) => registry.execute(id, input, { ...context, trusted });
}

/** Trust does not travel: on the other side the identity decides. The answer is checked here, where the spec is known. */
function through(
  callMap: CallMap,
  registry: OperationRegistry,
  { requestId, identity, deadline }: OperationContext,
): Call {
  return async (id, input) => {
    const envelope = await callMap.call(id, input, { parentRequestId: requestId, identity, deadline });
    return registry.answered(id, envelope);
  };
}
