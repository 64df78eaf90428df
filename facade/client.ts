// A typed client of the HTTP door, without native code: `fetch` is all that it needs.

import { members } from "./call/typed-call-map.js";
import { restored, wireText } from "./call/wire-value.js";
import type { ResponseEnvelope } from "./envelope.js";
import { CallError, failed, InfrastructureErrorCode, invalid } from "./errors.js";
import { messageOf } from "./interop/text.js";
import type {
  CallId,
  OperationById,
  OperationMethods,
  OperationsIn,
  Signature,
  StreamId,
} from "./operation-types.js";
import { timedOut, wasAborted, withDelivery } from "./outcomes.js";
import { readFrames } from "./sse/frames-of-text.js";

export { CallError, InfrastructureErrorCode } from "./errors.js";
export type { Mutation, Query, Subscription } from "./operation-types.js";

/**
 * Options of `createClient`.
 *
 * @example
 * ```ts
 * const options: ClientOptions = { token: () => process.env.HUB_TOKEN };
 * ```
 */
export interface ClientOptions {
  /** A bearer token, or a function that gives one for each request. */
  token?: string | (() => string | undefined | Promise<string | undefined>);
  headers?: Record<string, string>;
  /** Where the HTTP door is (default `/api`). */
  path?: string;
  /** In the place of the global `fetch`. */
  fetch?: typeof fetch;
}

/**
 * Options of one call, or of one stream.
 *
 * @example
 * ```ts
 * const options: ClientCallOptions = { timeout: 5_000, signal: new AbortController().signal };
 * ```
 */
export interface ClientCallOptions {
  signal?: AbortSignal;
  /** How many milliseconds it may take. */
  timeout?: number;
  /** For streams: the id of the last event that was received, for the handler's `context.metadata.lastEventId`. */
  lastEventId?: string;
  /** The approval that the call was refused for (`APPROVAL_REQUIRED`), once it is granted. */
  approval?: string;
}

/**
 * A client that knows the operations of its server.
 *
 * @example
 * ```ts
 * const client: Client<typeof registry> = createClient<typeof registry>("http://127.0.0.1:3000");
 * ```
 */
export type Client<T> = OperationMethods<OperationsIn<T>, ClientCallOptions> & {
  /** Calls an operation by its id. */
  $call<
    TId extends CallId<OperationsIn<T>>,
    TOperation extends Signature = OperationById<OperationsIn<T>, TId, Signature>,
  >(
    operationId: TId,
    input: TOperation["input"],
    options?: ClientCallOptions,
  ): Promise<ResponseEnvelope<TOperation["output"]>>;
  /** Subscribes to an operation by its id. Nothing is sent before the first `next()`. */
  $subscribe<
    TId extends StreamId<OperationsIn<T>>,
    TOperation extends Signature = OperationById<OperationsIn<T>, TId, Signature>,
  >(
    operationId: TId,
    input: TOperation["input"],
    options?: ClientCallOptions,
  ): AsyncGenerator<ResponseEnvelope<TOperation["output"]>, undefined, unknown>;
};

const ENVELOPE = "application/vnd.alkdev.envelope+json";

/**
 * A client of a server of this package: `client.tasks.create(input)`, typed by the registry that is served there.
 *
 * @example
 * ```ts
 * const registry = createRegistry([greet]);
 * const client = createClient<typeof registry>("http://127.0.0.1:3000", { token: "secret" });
 * const { data } = await client.demo.greet({ name: "Ada" });
 * ```
 */
export function createClient<T>(url: string | URL, options: ClientOptions = {}): Client<T> {
  const { token, headers = {}, path = "/api", fetch: send = fetch } = options;
  const door = new URL(path.replace(/\/*$/, "/"), url).href;

  /** Sends the input. The response is a success, of the given type. */
  async function request(run: Run, input: unknown, accept: string): Promise<Response> {
    const { namespace, name, id, signal, lastEventId, approval } = run;
    const body = wireText(input, `The input of operation ${id} cannot be sent`) ?? "";
    const bearer = typeof token === "function" ? await token() : token;
    if (signal.aborted) throw run.failure("none");
    let response: Response;
    try {
      response = await send(`${door}${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`, {
        method: "POST",
        body,
        signal,
        headers: {
          ...headers,
          accept,
          "content-type": "application/json",
          ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
          ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
          ...(approval !== undefined && { approval }),
        },
      });
      // A tool that says that it failed is an envelope too.
      const isEnvelope = response.headers.get("content-type")?.startsWith(ENVELOPE);
      if (isEnvelope || (response.ok && response.status !== 202)) return response;
      const text = await response.text();
      throw (
        approvalRequired(id, response, text, door) ?? problem(text) ?? unexpected(id, response.status, text)
      );
    } catch (error) {
      throw error instanceof CallError ? error : run.failure("unknown", error);
    }
  }

  async function call(namespace: string, name: string, input: unknown, given?: ClientCallOptions) {
    const run = new Run(namespace, name, given);
    try {
      const response = await request(run, input, ENVELOPE);
      const text = await response.text();
      return envelopeIn(text) ?? Promise.reject(unexpected(run.id, response.status, text));
    } catch (error) {
      throw error instanceof CallError ? error : run.failure("unknown", error);
    } finally {
      run.end();
    }
  }

  async function* subscribe(namespace: string, name: string, input: unknown, given?: ClientCallOptions) {
    const run = new Run(namespace, name, given);
    try {
      const response = await request(run, input, `${ENVELOPE}, text/event-stream`);
      const reader = response.body?.getReader();
      const decoder = new TextDecoder();
      let unread = "";
      for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
        unread += decoder.decode(part.value, { stream: true });
        const [left, parts] = readFrames(unread);
        unread = left === 0 ? "" : unread.slice(-left);
        for (let at = 0; at < parts.length; at += 3) {
          const text = parts[at] as string;
          const envelope = envelopeIn(text);
          if (envelope !== undefined) yield envelope;
          else throw problem(text) ?? unexpected(run.id, response.status, text);
        }
      }
    } catch (error) {
      throw error instanceof CallError ? error : run.failure("unknown", error);
    } finally {
      // Also where the consumer leaves early: the server then ends the handler.
      run.end();
    }
    return undefined;
  }

  const byId =
    <R>(run: (namespace: string, name: string, input: unknown, given?: ClientCallOptions) => R) =>
    (operationId: string, input: unknown, given?: ClientCallOptions): R => {
      const dot = operationId.lastIndexOf(".");
      if (dot < 1) throw invalid(`operationId must be "namespace.name", not ${JSON.stringify(operationId)}`);
      return run(operationId.slice(0, dot), operationId.slice(dot + 1), input, given);
    };
  const own: Record<string, unknown> = { $call: byId(call), $subscribe: byId(subscribe) };
  return members((namespace) =>
    Object.hasOwn(own, namespace)
      ? own[namespace]
      : members((name) => (input: unknown, given?: ClientCallOptions) => call(namespace, name, input, given)),
  ) as Client<T>;
}

/** A request that runs, and what can end it. */
class Run {
  readonly id: string;
  readonly lastEventId: string | undefined;
  readonly approval: string | undefined;
  readonly signal: AbortSignal;
  readonly #ending = new AbortController();
  readonly #began = Date.now();
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #given: ClientCallOptions;
  readonly #abort = () => this.#ending.abort();
  #isLate = false;

  constructor(
    readonly namespace: string,
    readonly name: string,
    given: ClientCallOptions = {},
  ) {
    this.id = `${namespace}.${name}`;
    this.lastEventId = given.lastEventId;
    this.approval = given.approval;
    this.signal = this.#ending.signal;
    this.#given = given;
    if (given.signal?.aborted) this.#abort();
    given.signal?.addEventListener("abort", this.#abort);
    if (given.timeout !== undefined) {
      this.#timer = setTimeout(() => {
        this.#isLate = true;
        this.#abort();
      }, given.timeout);
    }
  }

  /** Why it failed: its time was over, the caller has aborted it, or the connection broke. */
  failure(delivery: "none" | "unknown", error?: unknown): CallError {
    if (this.#isLate) {
      const deadline = this.#began + (this.#given.timeout ?? 0);
      return withDelivery(timedOut(this.id, deadline, Date.now() - this.#began), delivery);
    }
    if (this.signal.aborted) return withDelivery(wasAborted(this.id), delivery);
    const { cause = error } = Object(error);
    const reason = `${messageOf(error)}${cause === error ? "" : `: ${messageOf(cause)}`}`;
    return failed(`The call of ${this.id} failed on its way: ${reason}`, {
      operationId: this.id,
      reason: "connection",
      delivery,
    });
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#given.signal?.removeEventListener("abort", this.#abort);
    this.#abort();
  }
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    return Object(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function envelopeIn(text: string): ResponseEnvelope | undefined {
  const value = parsed(text);
  if (value === undefined || typeof value.meta !== "object") return undefined;
  const { data, meta } = restored(value, text.includes("$bytes"));
  return { data, meta } as ResponseEnvelope;
}

/** The answer to a call that needs an approval. */
function approvalRequired(
  id: string,
  { status, headers }: Response,
  text: string,
  door: string,
): CallError | undefined {
  const { approval } = parsed(text) ?? {};
  const location = headers.get("location");
  const approvalId = Object(approval).id;
  if (status !== 202 || typeof approvalId !== "string") return undefined;
  const message = `Operation ${id} needs the approval of a person, and nothing was done. Once approval ${approvalId} is granted, repeat the same call with it`;
  return new CallError("APPROVAL_REQUIRED", message, {
    operationId: id,
    approval: { ...Object(approval), ...(location !== null && { url: new URL(location, door).href }) },
    delivery: "none",
  });
}

/** The error that a problem document describes: `problem` of `crates/operations-http/src/message/served.rs` has the same rule. */
function problem(text: string): CallError | undefined {
  const { code, detail = code, details = {}, mayHaveRun, requestId } = parsed(text) ?? {};
  if (typeof code !== "string") return undefined;
  const isObject = typeof details === "object" && details !== null && !Array.isArray(details);
  const added = {
    delivery: mayHaveRun === false ? "none" : "done",
    ...(requestId !== undefined && { requestId }),
  };
  return new CallError(code, String(detail), isObject ? { ...added, ...details } : details);
}

function unexpected(id: string, statusCode: number, text: string): CallError {
  return new CallError(
    InfrastructureErrorCode.EXECUTION_ERROR,
    `The answer to the call of ${id} is neither an envelope nor a problem document (status ${statusCode}): is the URL that of a server of this package?`,
    {
      operationId: id,
      reason: "unexpected-answer",
      statusCode,
      body: text.slice(0, 4096),
      delivery: "unknown",
    },
  );
}
