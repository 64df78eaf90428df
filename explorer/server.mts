// The server that the page came from, and the identity that it is called with.

import { type Failure, failureOf, unreachable } from "./advice.mjs";
import { type Approval, NamedApprovals, requestedIn } from "./approvals.mjs";
import { EventReader, type StreamEvent } from "./events.mjs";
import { pathOf } from "./request.mjs";
import type { Schema } from "./schema-root.mjs";
import type { Listed } from "./search.mjs";

const ENVELOPE = "application/vnd.alkdev.envelope+json";

/** How the server is doing. */
export interface Status {
  readonly title: string | null;
  /** Where the HTTP door is, from here. */
  readonly api: string;
  /** Who the caller is; `null` without a token. */
  readonly caller: string | null;
  /** Changes when the operations do. */
  readonly revision: number;
  /** `null` for callers who may not read counters. */
  readonly stats: Readonly<Record<string, number>> | null;
  /** What operations are called through; none for callers who may not read counters. */
  readonly sources?: readonly {
    readonly kind: string;
    readonly name: string;
    readonly state: string;
    readonly isUsable: boolean;
  }[];
}

/** Everything about an operation. */
export interface Described extends Listed {
  readonly isOpen: boolean;
  readonly method: string;
  readonly path: string;
  readonly input: Schema | null;
  readonly output: Schema | null;
  readonly errors: readonly {
    readonly code: string;
    readonly description: string | null;
    readonly httpStatus: number | null;
  }[];
}

/** What became of a call. */
export interface Outcome {
  readonly status: number;
  readonly duration: number;
  readonly bytes: number;
  readonly requestId: string | null;
  /** The envelope; nothing where the call failed. */
  readonly envelope?: unknown;
  readonly failure?: Failure;
}

/** A request that the server did not answer as it should. */
export class Failed extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

export class Server {
  /** Who calls. It is kept here, and elsewhere only on request (`token.mts`). */
  token: string | undefined;
  #api: URL | undefined;
  readonly #named = new NamedApprovals();

  async status(): Promise<Status> {
    const status = await this.#json<Status>("status.json");
    this.#api = new URL(`${status.api}/`, document.baseURI);
    return status;
  }

  async operations(): Promise<Listed[]> {
    return (await this.#json<{ operations: Listed[] }>("operations.json")).operations;
  }

  operation({ namespace, name }: { namespace: string; name: string }): Promise<Described> {
    const query = `namespace=${encodeURIComponent(namespace)}&name=${encodeURIComponent(name)}`;
    return this.#json(`operation.json?${query}`);
  }

  /** The approvals that the caller made or may decide. */
  async approvals(): Promise<Approval[]> {
    return (await this.#json<{ approvals: Approval[] }>(new URL(".approvals", this.door))).approvals;
  }

  async decide(id: string, approve: boolean, reason: string): Promise<void> {
    const headers = { ...this.#headers(), "content-type": "application/json" };
    const body = JSON.stringify({ approve, ...(reason !== "" && { reason }) });
    const url = new URL(`.approvals/${encodeURIComponent(id)}`, this.door);
    await this.#json(url, { method: "POST", headers, body });
  }

  /** The HTTP door. */
  get door(): URL {
    return this.#api ?? new URL(document.baseURI);
  }

  /** Where an operation is called. */
  urlOf(operation: { namespace: string; name: string }): URL {
    return new URL(pathOf(operation), this.door);
  }

  async call(operation: Listed, body: string | undefined, signal: AbortSignal): Promise<Outcome> {
    const started = performance.now();
    const response = await this.#post(operation, body, ENVELOPE, signal);
    const text = await response.text().catch((error) => {
      throw new Failed(unreachable(error));
    });
    const outcome = {
      status: response.status,
      duration: performance.now() - started,
      bytes: new Blob([text]).size,
      requestId: response.headers.get("x-request-id"),
    };
    const requested = requestedIn(response.status, parsed(text));
    this.#named.set(operation, body, requested);
    if (requested !== undefined) {
      const detail = `It was not called: it waits for approval ${requested}`;
      return { ...outcome, failure: failureOf({ code: "APPROVAL_REQUIRED", detail }, response.status) };
    }
    const isEnvelope = response.headers.get("content-type")?.startsWith(ENVELOPE) === true;
    if (isEnvelope) return { ...outcome, envelope: parsed(text) };
    if (response.ok) return { ...outcome, envelope: { data: text === "" ? undefined : parsed(text) } };
    return { ...outcome, failure: failureOf(parsed(text), response.status, retryAfter(response)) };
  }

  /** The events of a subscription, as many at a time as have arrived. */
  async *stream(
    operation: Listed,
    body: string | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<StreamEvent[]> {
    const response = await this.#post(operation, body, `text/event-stream, ${ENVELOPE}`, signal);
    if (response.status === 202) {
      const requested = requestedIn(202, parsed(await response.text()));
      this.#named.set(operation, body, requested);
      const detail = `It was not opened: it waits for approval ${requested}`;
      throw new Failed(failureOf({ code: "APPROVAL_REQUIRED", detail }, 202));
    }
    if (!response.ok || response.body === null) {
      throw new Failed(failureOf(parsed(await response.text()), response.status, retryAfter(response)));
    }
    const events = new EventReader();
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await reader.read().catch((error) => {
        throw new Failed(unreachable(error));
      });
      if (done) return;
      const arrived = events.read(decoder.decode(value, { stream: true }));
      if (arrived.length > 0) yield arrived;
    }
  }

  async #post(
    operation: Listed,
    body: string | undefined,
    accept: string,
    signal: AbortSignal,
  ): Promise<Response> {
    const headers: Record<string, string> = { ...this.#headers(), accept };
    if (body !== undefined) headers["content-type"] = "application/json";
    const approval = this.#named.of(operation, body);
    if (approval !== undefined) headers["approval"] = approval;
    return reached(
      fetch(this.urlOf(operation), { method: "POST", headers, signal, ...(body !== undefined && { body }) }),
    );
  }

  async #json<T>(path: string | URL, init: RequestInit = { headers: this.#headers() }): Promise<T> {
    const response = await reached(fetch(new URL(path, document.baseURI), init));
    const text = await response.text();
    if (!response.ok) throw new Failed(failureOf(parsed(text), response.status, retryAfter(response)));
    return JSON.parse(text) as T;
  }

  #headers(): Record<string, string> {
    return this.token === undefined ? {} : { authorization: `Bearer ${this.token}` };
  }
}

async function reached(response: Promise<Response>): Promise<Response> {
  try {
    return await response;
  } catch (error) {
    throw new Failed(unreachable(error));
  }
}

function retryAfter(response: Response): number | undefined {
  const seconds = Number(response.headers.get("retry-after") ?? "x");
  return Number.isFinite(seconds) ? seconds : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
