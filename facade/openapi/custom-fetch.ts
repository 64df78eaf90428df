// Requests through a `fetch` of the user's: `config.fetch`, or a global one that somebody replaced (a mock, an
// instrumentation). Building requests and reading responses stays with the native side.

import { setTimeout as sleep } from "node:timers/promises";
import type { ResponseEnvelope } from "../envelope.js";
import type { PreparedRequest, StreamFeed } from "../native-binding.js";
import type { CheckedConfig } from "./config-check.js";
import type { EncodedInput } from "./encode-input.js";
import { bodyChunks, headerPairs, readBody, type SomeResponse, textOfBody } from "./fetch-response.js";
import type { HttpService } from "./handler.js";
import { toEnvelope, toError } from "./outcome.js";
import { type StreamSource, TAKEN } from "./stream.js";

export type Fetch = (url: string, init: RequestInit) => Promise<SomeResponse>;

/** The `fetch` that was there when the package was loaded. */
const ORIGINAL: unknown = globalThis.fetch;

/** The `fetch` to use in the place of the native client, if there is one. */
export function replacedFetch(config: CheckedConfig): Fetch | undefined {
  if (config.fetch !== undefined) return config.fetch as unknown as Fetch;
  const current: unknown = globalThis.fetch;
  return current === ORIGINAL || typeof current !== "function" ? undefined : (current as Fetch);
}

/** Makes a call. */
export async function callThroughFetch(
  fetch: Fetch,
  request: PreparedRequest,
  timeout: number | undefined,
  signal: AbortSignal | undefined,
): Promise<ResponseEnvelope> {
  const [kind, about, body] = await withRetries(fetch, request, timeout, signal);
  return toEnvelope(kind as number, about as string, body);
}

/** Fetches a text that is no operation. */
export async function textThroughFetch(
  fetch: Fetch,
  request: PreparedRequest,
  timeout: number | undefined,
): Promise<{ text: string; url: string }> {
  const [kind, about, body] = await withRetries(fetch, request, timeout, undefined);
  const { data } = toEnvelope(kind as number, about as string, body);
  return { text: textOfBody(data, body), url: JSON.parse(request.head()).url };
}

/** Kind, text and body of the result. */
async function withRetries(
  fetch: Fetch,
  request: PreparedRequest,
  timeout: number | undefined,
  signal: AbortSignal | undefined,
): Promise<unknown[]> {
  const attempt = new Attempt(request, timeout, signal);
  try {
    for (let tries = 1; ; tries++) {
      attempt.tries = tries;
      const { outcome, status, retryAfter } = await once(fetch, attempt);
      if (status >= 200 && status < 300) return outcome as unknown[];
      const pause = request.retryDelay(tries, status, retryAfter, Math.random());
      if (pause !== null) await attempt.pause(pause);
      else if (outcome === undefined) attempt.fail("network", attempt.reason);
      else return withTries(outcome, tries);
    }
  } finally {
    attempt.end();
  }
}

interface Once {
  /** Nothing when the request failed on its way. */
  outcome: unknown[] | undefined;
  status: number;
  retryAfter: string | undefined;
}

async function once(fetch: Fetch, attempt: Attempt): Promise<Once> {
  const { request } = attempt;
  const response = await attempt.exchange(fetch);
  if (response === undefined) return { outcome: undefined, status: 0, retryAfter: undefined };
  const pairs = headerPairs(response);
  const limit = request.maxResponseBytes();
  const bytes = await attempt.until(readBody(response, limit));
  if (bytes === undefined) return { outcome: undefined, status: 0, retryAfter: undefined };
  if (bytes === "too large") attempt.fail("size", "");
  const outcome = request.decode(
    response.status,
    response.statusText ?? "",
    JSON.stringify(pairs),
    bytes as Uint8Array,
  );
  const retryAfter = pairs.find(([name]) => name.toLowerCase() === "retry-after")?.[1];
  return { outcome, status: response.status, retryAfter };
}

function withTries(outcome: unknown[], tries: number): unknown[] {
  if (tries === 1) return outcome;
  const error = JSON.parse(outcome[1] as string);
  error.message = `${error.message} (tried ${tries} times)`;
  return [outcome[0], JSON.stringify(error), outcome[2]];
}

/** One call, however often it is tried: its time limit, its signal, and why it failed. */
class Attempt {
  readonly request: PreparedRequest;
  tries = 1;
  /** Why the last try failed. */
  reason = "";
  readonly #controller = new AbortController();
  readonly #timeout: number | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  #ended: "timeout" | "aborted" | undefined;

  constructor(request: PreparedRequest, timeout: number | undefined, signal: AbortSignal | undefined) {
    this.request = request;
    this.#timeout = timeout;
    this.#signal = signal;
    this.#signal?.addEventListener("abort", this.#onAbort, { once: true });
    if (timeout !== undefined) this.#timer = setTimeout(() => this.#stop("timeout"), timeout);
  }

  readonly #onAbort = () => this.#stop("aborted");

  #stop(why: "timeout" | "aborted"): void {
    this.#ended ??= why;
    this.#controller.abort();
  }

  /** The time limit of a stream covers its headers only. */
  noTimeLimit(): void {
    clearTimeout(this.#timer);
  }

  end(): void {
    this.noTimeLimit();
    this.#signal?.removeEventListener("abort", this.#onAbort);
  }

  /** Closes the connection. */
  abort(): void {
    this.#stop("aborted");
    this.end();
  }

  fail(kind: "network" | "size", text: string): never {
    const ended = this.#ended;
    if (ended !== undefined) this.request.fail(ended, String(this.#timeout ?? ""), this.tries);
    this.request.fail(kind, text, this.tries);
    throw new Error("unreachable");
  }

  /** Waits before another try; not longer than the call itself may last. */
  async pause(milliseconds: number): Promise<void> {
    await this.until(sleep(milliseconds, undefined, { signal: this.#controller.signal }));
  }

  /** What comes of it; nothing when it fails, for `reason`. A `fetch` that ignores its signal does not hold us. */
  async until<T>(work: Promise<T>): Promise<T | undefined> {
    const { signal } = this.#controller;
    let stop: (() => void) | undefined;
    const stopped = new Promise<never>((_, reject) => {
      stop = () => reject(new Error("stopped"));
      if (signal.aborted) stop();
      else signal.addEventListener("abort", stop, { once: true });
    });
    try {
      return await Promise.race([work, stopped]);
    } catch (error) {
      work.catch(() => {});
      if (this.#ended !== undefined) this.fail("network", "");
      this.reason = reasonOf(error);
      return undefined;
    } finally {
      if (stop !== undefined) signal.removeEventListener("abort", stop);
    }
  }

  /** Sends the request and follows redirects. */
  async exchange(fetch: Fetch): Promise<SomeResponse | undefined> {
    for (;;) {
      const { method, url, headers } = JSON.parse(this.request.head());
      const body = this.request.body() ?? undefined;
      const init: RequestInit = { method, headers, redirect: "manual", signal: this.#controller.signal };
      if (body !== undefined) init.body = body as NonNullable<RequestInit["body"]>;
      const sent = await this.until(new Promise<SomeResponse>((resolve) => resolve(fetch(url, init))));
      if (sent === undefined) return undefined;
      const location = headerPairs(sent).find(([name]) => name.toLowerCase() === "location")?.[1];
      if (!this.request.redirect(sent.status, location)) return sent;
      sent.body?.cancel?.().catch(() => {});
    }
  }
}

/** A `fetch` says "fetch failed" and the reason in its cause. */
function reasonOf(error: unknown): string {
  const { message, cause } = (error ?? {}) as { message?: unknown; cause?: { message?: unknown } };
  const words = [message, cause?.message].filter((word) => typeof word === "string" && word !== "");
  return words.length > 0 ? words.join(": ") : String(error);
}

/** A stream whose bytes come from a `fetch`. It reads only while somebody waits. */
export class FetchSource implements StreamSource {
  readonly #items: (string | number)[] = [];
  #head = "";
  #failure: unknown;
  #feed: StreamFeed | undefined;
  #chunks: AsyncIterator<Uint8Array> | undefined;
  #attempt: Attempt | undefined;
  #ended = false;
  #closed = false;
  readonly #open: () => Promise<void>;

  constructor(
    fetch: Fetch,
    service: HttpService,
    index: number,
    encoded: EncodedInput | Promise<EncodedInput>,
    headers: string | undefined,
  ) {
    this.#open = async () => {
      const { input, body, blobs } = await encoded;
      if (this.#closed) return;
      const request = service.native.prepare(index, input, body, blobs, headers);
      this.#attempt = new Attempt(request, service.config.timeout, undefined);
      const response = await this.#attempt.exchange(fetch);
      if (response === undefined) this.#attempt.fail("network", this.#attempt.reason);
      else await this.#begin(this.#attempt, response, service.config.sse?.lastEventId ?? "");
    };
  }

  take(): string | number {
    return this.#items.shift() ?? TAKEN.WAIT;
  }

  head(): string {
    return this.#head;
  }

  failure(): Error {
    return this.#failure as Error;
  }

  wait(ready: () => void): void {
    this.#advance().then(ready, (error) => {
      this.#failure = error;
      this.#items.push(TAKEN.FAILED);
      ready();
    });
  }

  close(): void {
    this.#closed = true;
    this.#attempt?.abort();
    this.#chunks?.return?.()?.catch(() => {});
  }

  async #advance(): Promise<void> {
    if (this.#attempt === undefined) return this.#open();
    const feed = this.#feed;
    if (feed === undefined || this.#chunks === undefined) {
      this.#items.push(TAKEN.END);
      return;
    }
    while (this.#items.length === 0) {
      feed.check();
      if (this.#ended) {
        this.#items.push(TAKEN.END);
        return;
      }
      const step = await this.#attempt.until(this.#chunks.next());
      if (this.#closed) return;
      if (step === undefined) this.#attempt.fail("network", this.#attempt.reason);
      this.#ended = step?.done === true;
      const batch = this.#ended ? feed.finish() : feed.push(step?.value as Uint8Array);
      if (batch !== null) this.#items.push(batch);
    }
  }

  async #begin(attempt: Attempt, response: SomeResponse, lastEventId: string): Promise<void> {
    const headers = JSON.stringify(headerPairs(response));
    const succeeded = response.status >= 200 && response.status < 300;
    if (response.status === 204 || response.status === 205) {
      this.#items.push(TAKEN.END);
      return;
    }
    const feed = succeeded ? attempt.request.feed(response.status, headers, lastEventId) : null;
    if (feed !== null) {
      attempt.noTimeLimit();
      this.#feed = feed;
      this.#head = feed.head();
      this.#chunks = bodyChunks(response)[Symbol.asyncIterator]();
      this.#items.push(feed.hasEvents() ? TAKEN.EVENTS : TAKEN.LINES);
      return;
    }
    const bytes = await attempt.until(readBody(response, attempt.request.maxResponseBytes()));
    if (bytes === "too large") attempt.fail("size", "");
    if (bytes === undefined) attempt.fail("network", attempt.reason);
    const outcome = attempt.request.decode(
      response.status,
      response.statusText ?? "",
      headers,
      bytes as Uint8Array,
    );
    const [kind, about, body] = outcome as [number, string, unknown];
    if (!succeeded) throw toError(about, body);
    const { data } = toEnvelope(kind, about, body);
    this.#head = about;
    if (data !== undefined) this.#items.push(TAKEN.LINES, JSON.stringify([data]));
    this.#items.push(TAKEN.END);
  }
}
