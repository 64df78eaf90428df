// A stream whose bytes come from a `fetch` of the user's. It reads only while somebody waits.

import { CallError, InfrastructureErrorCode } from "../errors.js";
import type { PreparedRequest, StreamFeed } from "../native-binding.js";
import type { EncodedInput } from "./encode-input.js";
import { Attempt, type Fetch } from "./fetch-attempt.js";
import { bodyChunks, headerOf, headerPairs, readBody, type SomeResponse } from "./fetch-response.js";
import { toEnvelope, toError, withTries } from "./outcome.js";
import type { HttpService } from "./service.js";
import { type StreamSource, TAKEN } from "./stream.js";

export class FetchSource implements StreamSource {
  readonly #fetch: Fetch;
  readonly #service: HttpService;
  readonly #prepare: () => Promise<PreparedRequest>;
  #lastEventId: string;
  readonly #items: (string | number)[] = [];
  #head = "";
  #failure: unknown;
  #request: PreparedRequest | undefined;
  #attempt: Attempt | undefined;
  #feed: StreamFeed | undefined;
  #chunks: AsyncIterator<Uint8Array> | undefined;
  /** The connection has ended; with an error if it broke. */
  #ended: { error?: unknown } | undefined;
  /** Attempts in a row that brought no event. */
  #fruitless = 0;
  #closed = false;

  constructor(
    fetch: Fetch,
    service: HttpService,
    index: number,
    encoded: EncodedInput | Promise<EncodedInput>,
    headers: string | undefined,
  ) {
    this.#fetch = fetch;
    this.#service = service;
    this.#lastEventId = service.config.sse?.lastEventId ?? "";
    this.#prepare = async () => {
      const { input, body, blobs } = await encoded;
      return service.native.prepare(index, input, body, blobs, headers);
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

  /** Goes on until there is something to take. */
  async #advance(): Promise<void> {
    if (this.#request === undefined) {
      this.#request = await this.#prepare();
      this.#request.resumeAfter(this.#lastEventId);
      await this.#openFirst(this.#request);
    }
    while (this.#items.length === 0 && !this.#closed) {
      this.#feed?.check();
      if (this.#ended !== undefined) await this.#reopen(this.#ended);
      else await this.#read();
    }
  }

  async #read(): Promise<void> {
    const { attempt, feed, chunks } = this.#opened();
    const step = await attempt.until(chunks.next());
    if (this.#closed) return;
    if (step === undefined) this.#ended = { error: caught(() => attempt.fail("network", attempt.reason)) };
    else if (step.done === true) this.#ended = {};
    const batch = this.#ended === undefined ? feed.push(step?.value as Uint8Array) : feed.finish();
    if (batch === null) return;
    this.#items.push(batch);
    this.#fruitless = 0;
  }

  #opened(): { attempt: Attempt; feed: StreamFeed; chunks: AsyncIterator<Uint8Array> } {
    return {
      attempt: this.#attempt as Attempt,
      feed: this.#feed as StreamFeed,
      chunks: this.#chunks as AsyncIterator<Uint8Array>,
    };
  }

  /** Opens the stream again, if the configuration asks for it; otherwise it is over. */
  async #reopen({ error }: { error?: unknown }): Promise<void> {
    const request = this.#request as PreparedRequest;
    const { attempt, feed } = this.#opened();
    let last = error;
    let status = 0;
    let retryAfter: string | undefined;
    for (;;) {
      const pause = request.reconnectionDelay(feed, this.#fruitless, status, retryAfter);
      if (pause === null) {
        if (last !== undefined) throw last;
        this.#items.push(TAKEN.END);
        return;
      }
      await attempt.pause(pause);
      this.#fruitless++;
      this.#lastEventId = feed.lastEventId();
      request.resumeAfter(this.#lastEventId);
      try {
        return await this.#open(request, this.#fruitless + 1);
      } catch (failure) {
        if (!(failure instanceof Refusal)) throw failure;
        ({ error: last, status, retryAfter } = failure);
      }
    }
  }

  /** Opens the stream, and tries again as `config.retry` says. */
  async #openFirst(request: PreparedRequest): Promise<void> {
    for (let tries = 1; !this.#closed; tries++) {
      try {
        return await this.#open(request, tries);
      } catch (failure) {
        if (!(failure instanceof Refusal)) throw failure;
        const { error, status, retryAfter } = failure;
        const late = error instanceof CallError && error.code === InfrastructureErrorCode.TIMEOUT;
        const pause = late ? null : request.retryDelay(tries, status, retryAfter, Math.random());
        if (pause === null) throw error;
        await this.#attempt?.pause(pause);
      }
    }
  }

  async #open(request: PreparedRequest, tries: number): Promise<void> {
    const attempt = new Attempt(this.#service, request, undefined);
    attempt.tries = tries;
    this.#attempt = attempt;
    try {
      const response = await attempt.exchange(this.#fetch);
      if (response === undefined) attempt.fail("network", attempt.reason);
      await this.#begin(attempt, response as SomeResponse);
    } catch (error) {
      attempt.end();
      throw this.#closed || error instanceof Refusal ? error : new Refusal(error, 0, undefined);
    }
  }

  async #begin(attempt: Attempt, response: SomeResponse): Promise<void> {
    const { request } = attempt;
    const { status } = response;
    const headers = JSON.stringify(headerPairs(response));
    const succeeded = status >= 200 && status < 300;
    if (status === 204 || status === 205) {
      this.#items.push(TAKEN.END);
      return;
    }
    const feed = succeeded ? request.feed(status, headers, this.#lastEventId) : null;
    if (feed !== null) {
      attempt.noTimeLimit();
      this.#feed = feed;
      this.#ended = undefined;
      this.#head = feed.head();
      this.#chunks = bodyChunks(response)[Symbol.asyncIterator]();
      this.#items.push(feed.hasEvents() ? TAKEN.EVENTS : TAKEN.LINES);
      return;
    }
    const bytes = await attempt.until(readBody(response, request.maxResponseBytes()));
    if (bytes === "too large") attempt.fail("size", "");
    if (bytes === undefined) attempt.fail("network", attempt.reason);
    const outcome = request.decode(status, response.statusText ?? "", headers, bytes as Uint8Array);
    const [kind, about, body] = outcome as [number, string, unknown];
    if (!succeeded) {
      const error = toError(withTries(about, attempt.tries), body);
      throw new Refusal(error, status, headerOf(response, "retry-after"));
    }
    const { data } = toEnvelope(kind, about, body);
    this.#head = about;
    if (data !== undefined) this.#items.push(TAKEN.LINES, `[${body}]`);
    this.#items.push(TAKEN.END);
  }
}

/** A server that did not give the stream, and what to know before it is asked again. */
class Refusal {
  readonly error: unknown;
  readonly status: number;
  readonly retryAfter: string | undefined;

  constructor(error: unknown, status: number, retryAfter: string | undefined) {
    this.error = error;
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** What a function throws. */
function caught(work: () => never): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
