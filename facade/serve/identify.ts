// `identify`: the identity of a request, from the user's function.

import { isIdentity } from "../call/incoming.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { isWhole, optionOf } from "../interop/options.js";
import { kindOf, messageOf } from "../interop/text.js";
import { logger } from "../logging.js";
import type { Identity } from "../types.js";

/**
 * The request that `identify` reads. A result with a `maxAge` is kept for all requests that agree in everything that
 * `identify` has read.
 *
 * @example
 * ```ts
 * const sessions = new Map<string | null, Identity>();
 * const identify = (request: ServedRequest) => sessions.get(request.headers.get("x-session") ?? "");
 * ```
 */
export interface ServedRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: Headers;
}

/**
 * An identity that is kept for `maxAge` milliseconds.
 *
 * @example
 * ```ts
 * const answer: KeptIdentity = { identity: { id: "ada", scopes: [] }, maxAge: 60_000 };
 * ```
 */
export interface KeptIdentity {
  identity: Identity | undefined;
  /** With 0, nothing is kept: each request asks again, and connections to the hub are checked once a minute. */
  maxAge: number;
}

/**
 * Returns the identity of a request, or `undefined` if the caller has none. A `CallError` with the code `ACCESS_DENIED`
 * is answered with 401.
 *
 * @example
 * ```ts
 * const sessions = new Map<string | null, Identity>();
 * const identify: Identify = ({ headers }) => sessions.get(headers.get("authorization"));
 * ```
 */
export type Identify = (
  request: ServedRequest,
) => Identity | KeptIdentity | undefined | null | Promise<Identity | KeptIdentity | undefined | null>;

/** A request as the native side describes it. */
export interface IdentityRequest {
  method: string;
  url: string;
  headers: [name: string, value: string][];
}

const log = logger("serve");

/** The answer as the native side reads it. */
export async function identified(identify: Identify, incoming: IdentityRequest): Promise<string> {
  const request = new NotedRequest(incoming);
  const answer = await identify(request);
  const { identity, maxAge } = partsOf(answer);
  if (identity !== undefined && !isIdentity(identity)) {
    throw refused(
      `identify returned ${kindOf(identity)}, which is not an identity. Return { id, scopes, resources? }`,
    );
  }
  if (maxAge !== undefined && !isWhole(maxAge, 0)) {
    throw refused("identify returned a maxAge that is not a whole number of milliseconds");
  }
  return JSON.stringify({ identity: identity ?? null, maxAge, lookedAt: [...request.accessed] });
}

/** The error for the client: what a user's function throws is for the operator only. */
export function failureOf(error: unknown, name = "identify"): CallError {
  if (error instanceof CallError && error.code === InfrastructureErrorCode.ACCESS_DENIED) return error;
  log.error(`${name} failed: ${messageOf(error)}`);
  return refused(`${name} failed`);
}

function refused(message: string): CallError {
  return new CallError(InfrastructureErrorCode.EXECUTION_ERROR, message);
}

function partsOf(answer: unknown): { identity: unknown; maxAge: unknown } {
  if (answer === undefined || answer === null) return { identity: undefined, maxAge: undefined };
  if (typeof answer === "object" && "maxAge" in answer && !("id" in answer)) {
    return { identity: optionOf(answer, "identity") ?? undefined, maxAge: answer.maxAge };
  }
  return { identity: answer, maxAge: undefined };
}

/** A request that records what is read of it, under the names that the native side knows. */
class NotedRequest implements ServedRequest {
  readonly #request: IdentityRequest;
  readonly accessed = new Set<string>();
  readonly headers: Headers;

  constructor(incoming: IdentityRequest) {
    this.#request = incoming;
    this.headers = noted(new Headers(incoming.headers), this.accessed);
  }

  get method(): string {
    this.accessed.add(":method");
    return this.#request.method;
  }

  get url(): string {
    this.accessed.add(":url");
    return this.#request.url;
  }
}

/** Headers that record which of them are read. Anything but reading one by name counts as reading all. */
function noted(headers: Headers, accessed: Set<string>): Headers {
  const one = (ask: (name: string) => unknown) => (name: string) => {
    accessed.add(String(name).toLowerCase());
    return ask.call(headers, name);
  };
  return new Proxy(headers, {
    get(_, property) {
      if (property === "get" || property === "has") return one(headers[property]);
      accessed.add(":headers");
      const value = Reflect.get(headers, property);
      return typeof value === "function" ? value.bind(headers) : value;
    },
  });
}
