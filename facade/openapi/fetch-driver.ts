// Drives a native machine (`crates/operations-http/src/machine/`) with the user's `fetch`: it sends, reads and
// sleeps as the machine decides, and the machine interprets the responses.

import { onAbort } from "../interop/abort.js";
import { Yielder } from "../interop/event-loop.js";
import { messageOf, textOf } from "../interop/text.js";
import type { HttpMachine } from "../native-binding.js";
import {
  assertResponse,
  type BodyReader,
  bodyReader,
  headerPairs,
  quietly,
  type SomeResponse,
  statusOf,
  statusTextOf,
} from "./fetch-response.js";
import type { HttpService } from "./service.js";

export type Fetch = (url: string, init: RequestInit) => Promise<SomeResponse>;

/** What a machine says, as `src/http/machine.rs` numbers it. */
const STEP = { SEND: 0, READ: 1, SLEEP: 2, DELIVER: 3, DONE: 4 } as const;

/** What Node's timers can count. */
const LONGEST_TIMER = 0x7fffffff;

/** One call or one stream through a `fetch`. */
export class FetchDriver {
  readonly machine: HttpMachine;
  readonly #fetch: Fetch;
  readonly #service: HttpService;
  readonly #ignoreSignal: () => void;
  /** Of the request that is under way. What belongs to another comes too late. */
  #request: AbortController | undefined;
  #body: BodyReader | undefined;
  /** The body of the last response, where it came in one piece. */
  wholeBody: ArrayBuffer | undefined;
  #interrupt: ((step: number) => void) | undefined;
  readonly #yielder = new Yielder();

  constructor(service: HttpService, fetch: Fetch, machine: HttpMachine, signal?: AbortSignal) {
    this.#service = service;
    this.#fetch = fetch;
    this.machine = machine;
    this.#ignoreSignal = onAbort(signal, () => this.cancel());
    service.drivers.add(this);
  }

  /** Goes on until there is something to take from the machine. */
  async advance(): Promise<void> {
    let step = this.machine.step();
    while (step < STEP.DELIVER) {
      step = this.#yielder.isDue ? await this.#afterTurn(step) : await this.#perform(step);
    }
  }

  /** Ends it and closes the connection. The next reader gets the error, unless it was over already. */
  cancel(): void {
    const step = this.machine.cancel();
    this.#service.drivers.delete(this);
    this.#ignoreSignal();
    this.#abandon();
    this.#interrupt?.(step);
  }

  /** A body that always has its next piece ready would block the event loop, the timer of this call included. */
  async #afterTurn(step: number): Promise<number> {
    await this.#yielder.yieldNow();
    const next = this.machine.tick();
    if (next !== step) this.#abandon();
    return next;
  }

  /** Does what the machine says, unless its clock or `cancel` comes first. */
  async #perform(step: number): Promise<number> {
    let timer: NodeJS.Timeout | undefined;
    const interrupted = new Promise<number>((resolve, reject) => {
      this.#interrupt = resolve;
      const ring = () => {
        try {
          const next = this.machine.tick();
          if (next === step) return setClock();
          this.#abandon();
          resolve(next);
        } catch (error) {
          reject(error);
        }
      };
      const setClock = () => {
        const wait = this.machine.wait();
        if (wait !== null) timer = setTimeout(ring, Math.min(wait, LONGEST_TIMER));
      };
      setClock();
    });
    try {
      if (step === STEP.SLEEP) return await interrupted;
      return await Promise.race([interrupted, step === STEP.SEND ? this.#send() : this.#read()]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #send(): Promise<number> {
    this.#leaveResponse();
    const request = new AbortController();
    this.#request = request;
    const { url, ...head } = JSON.parse(this.machine.request());
    const init: RequestInit = { ...head, redirect: "manual", signal: request.signal };
    const body = this.machine.body();
    if (body !== null) init.body = body as NonNullable<RequestInit["body"]>;
    const fetch = this.#fetch;
    let response: SomeResponse;
    try {
      response = await fetch(url, init);
    } catch (error) {
      return this.#failed(request, error);
    }
    if (this.#request !== request) {
      quietly(() => response.body?.cancel?.());
      return this.machine.step();
    }
    try {
      assertResponse(response);
      const headers = headerPairs(response);
      this.#body = bodyReader(response, headers);
      return this.machine.head(statusOf(response), statusTextOf(response), JSON.stringify(headers));
    } catch (error) {
      request.abort();
      return this.#failed(request, error);
    }
  }

  async #read(): Promise<number> {
    const request = this.#request;
    let piece: Uint8Array | undefined;
    try {
      piece = await this.#body?.read();
    } catch (error) {
      return this.#failed(request, error);
    }
    if (this.#request !== request) return this.machine.step();
    this.wholeBody = this.#body?.whole;
    if (piece !== undefined) return this.machine.chunk(piece);
    this.#request = undefined;
    this.#body = undefined;
    return this.machine.end();
  }

  /** A request has failed. It is forgotten at once: undici has an error of its own, which cannot be caught, for
   * aborting a request that is over. */
  #failed(request: AbortController | undefined, error: unknown): number {
    if (this.#request !== request) return this.machine.step();
    this.#request = undefined;
    this.#leaveResponse();
    return this.machine.failed(...reasonOf(error));
  }

  /** Abandons the request in flight. */
  #abandon(): void {
    this.#request?.abort();
    this.#request = undefined;
    this.#leaveResponse();
  }

  #leaveResponse(): void {
    this.#body?.cancel();
    this.#body = undefined;
  }
}

/** Words of undici's for which the native client has those of the system. */
const WORDS: Readonly<Record<string, string>> = {
  UND_ERR_SOCKET: "ECONNRESET",
  UND_ERR_CONNECT_TIMEOUT: "ETIMEDOUT",
};

/** Why a `fetch` failed, and the word for it that programs know. It says "fetch failed", and the reason in its cause. */
function reasonOf(error: unknown): [why: string, code: string | undefined] {
  try {
    const { message, code, cause } = (error ?? {}) as Problem;
    const words = [message, cause?.message].filter((word) => typeof word === "string" && word !== "");
    const word = [cause?.code, code].find((each) => typeof each === "string") as string | undefined;
    const known = word !== undefined && Object.hasOwn(WORDS, word) ? WORDS[word] : word;
    return [words.length > 0 ? words.join(": ") : textOf(error), known];
  } catch (unreadable) {
    return [messageOf(unreadable), undefined];
  }
}

/** The properties that anything thrown may have. */
interface Problem {
  readonly message?: unknown;
  readonly code?: unknown;
  readonly cause?: Problem;
}
