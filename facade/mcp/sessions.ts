// Connections to one MCP server, one for each user and credential: a server may keep what it knows of a user with the
// session, so no session is ever used for two.

import { CallError, failed, InfrastructureErrorCode } from "../errors.js";
import { onAbort } from "../interop/abort.js";
import { identityIn } from "../registry/authorise.js";
import type { OperationContext } from "../types.js";
import type { MCPSessions } from "./config.js";

/** What a session is to the pool. */
interface Closable {
  close(): Promise<void>;
}

interface Session<T> {
  readonly key: string;
  readonly client: Promise<T>;
  /** Calls that are under way. */
  calls: number;
  idle: NodeJS.Timeout | undefined;
}

const DEFAULT_SESSIONS = 100;
const DEFAULT_IDLE = 60_000;

export class Sessions<T extends Closable> {
  readonly #server: string;
  readonly #connect: (headers: Record<string, string>) => Promise<T>;
  readonly #max: number;
  readonly #maxIdle: number;
  /** In the order of their last use. */
  readonly #sessions = new Map<string, Session<T>>();
  readonly #closing = new Set<Promise<void>>();
  #isClosed = false;

  constructor(
    server: string,
    { most = DEFAULT_SESSIONS, idle = DEFAULT_IDLE, max = most, maxIdle = idle }: MCPSessions,
    connect: (headers: Record<string, string>) => Promise<T>,
  ) {
    this.#server = server;
    this.#max = max;
    this.#maxIdle = maxIdle;
    this.#connect = connect;
  }

  /** How many there are. */
  get size(): number {
    return this.#sessions.size;
  }

  /** Does something in the session of a user with these headers. */
  async use<R>(
    context: OperationContext,
    headers: Record<string, string>,
    work: (client: T) => Promise<R>,
  ): Promise<R> {
    const session = this.#sessionFor(keyOf(context, headers), headers);
    session.calls += 1;
    try {
      return await work(await unlessAborted(session.client, context.signal, this.#server));
    } finally {
      session.calls -= 1;
      this.#rest(session);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const session of [...this.#sessions.values()]) this.#end(session);
    await Promise.all(this.#closing);
  }

  #sessionFor(key: string, headers: Record<string, string>): Session<T> {
    if (this.#isClosed) throw this.#refused("closed", "it was closed, and the call was not sent");
    const known = this.#sessions.get(key);
    if (known !== undefined) {
      clearTimeout(known.idle);
      this.#sessions.delete(key);
      this.#sessions.set(key, known);
      return known;
    }
    if (this.#sessions.size >= this.#max) this.#makeRoom();
    const session: Session<T> = { key, client: this.#connect(headers), calls: 0, idle: undefined };
    this.#sessions.set(key, session);
    // A failed one must not prevent another attempt.
    session.client.catch(() => this.#forget(session));
    return session;
  }

  /** The one that was idle for longest goes. */
  #makeRoom(): void {
    for (const session of this.#sessions.values()) {
      if (session.calls > 0) continue;
      this.#end(session);
      return;
    }
    throw this.#refused(
      "overloaded",
      `all ${this.#max} connections are in use (\`sessions.max\`), and the call was not sent. Try again in 1000 ms`,
      { retryAfter: 1_000 },
    );
  }

  #refused(reason: string, what: string, more: object = {}): CallError {
    const server = this.#server;
    return failed(`MCP server '${server}': ${what}`, { server, reason, delivery: "none", ...more });
  }

  /** An idle session ends after a while. */
  #rest(session: Session<T>): void {
    if (session.calls > 0 || this.#sessions.get(session.key) !== session) return;
    clearTimeout(session.idle);
    session.idle = setTimeout(() => this.#end(session), this.#maxIdle);
    session.idle.unref?.();
  }

  #forget(session: Session<T>): void {
    clearTimeout(session.idle);
    if (this.#sessions.get(session.key) === session) this.#sessions.delete(session.key);
  }

  #end(session: Session<T>): void {
    this.#forget(session);
    const closing: Promise<void> = session.client
      .then(
        (client) => client.close(),
        () => {},
      )
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

/** Who, and with what. Two users never share a session, even where their headers are the same. */
function keyOf(context: OperationContext, headers: Record<string, string>): string {
  const sorted = Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([identityIn(context)?.id ?? null, sorted]);
}

/** A connection attempt continues for the other callers when one of them is aborted. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined, server: string): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = () =>
      reject(
        new CallError(
          InfrastructureErrorCode.ABORTED,
          `MCP server '${server}': the call was aborted before it was sent`,
          { server, reason: "aborted", delivery: "none" },
        ),
      );
    if (signal.aborted) abort();
    const forget = onAbort(signal, abort);
    work.then(resolve, reject).finally(forget);
  });
}
