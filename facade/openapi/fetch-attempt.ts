// One request through a `fetch` of the user's, within its time limit and until its signal.

import { setTimeout as sleep } from "node:timers/promises";
import { onAbort } from "../border/abort.js";
import type { PreparedRequest } from "../native-binding.js";
import { headerOf, type SomeResponse } from "./fetch-response.js";
import type { HttpService } from "./service.js";

/** What Node's timers can count. A call that may take longer has no limit. */
const LONGEST_TIMER = 0x7fffffff;

export type Fetch = (url: string, init: RequestInit) => Promise<SomeResponse>;

/** One call, however often it is tried: its time limit, its signal, and why it failed. */
export class Attempt {
  readonly request: PreparedRequest;
  tries = 1;
  /** Why the last try failed. */
  reason = "";
  readonly #controller = new AbortController();
  readonly #timeout: number | undefined;
  readonly #ignoreSignal: () => void;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #service: HttpService;
  #ended: "timeout" | "aborted" | undefined;

  constructor(service: HttpService, request: PreparedRequest, signal: AbortSignal | undefined) {
    const { timeout } = service.config;
    this.#service = service;
    this.#service.attempts.add(this);
    this.request = request;
    this.#timeout = timeout;
    this.#ignoreSignal = onAbort(signal, () => this.#stop("aborted"));
    if (timeout !== undefined && timeout <= LONGEST_TIMER) {
      this.#timer = setTimeout(() => this.#stop("timeout"), timeout);
    }
  }

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
    this.#service.attempts.delete(this);
    this.#ignoreSignal();
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
    this.request.restart();
    for (;;) {
      const { method, url, headers: pairs } = JSON.parse(this.request.head());
      // A plain object is what most mocks expect to look into.
      const headers = Object.fromEntries(pairs);
      const body = this.request.body() ?? undefined;
      const init: RequestInit = { method, headers, redirect: "manual", signal: this.#controller.signal };
      if (body !== undefined) init.body = body as NonNullable<RequestInit["body"]>;
      const sent = await this.until(new Promise<SomeResponse>((resolve) => resolve(fetch(url, init))));
      if (sent === undefined) return undefined;
      if (!this.request.redirect(sent.status, headerOf(sent, "location"))) return sent;
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
