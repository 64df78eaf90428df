import { clearInterval, setInterval } from "node:timers";
import { Inbox, type Receiver } from "../border/inbox.js";
import { keepAlive, keepAliveDuring, letGo } from "../border/keep-alive.js";
import { aPatience, checkedOptions } from "../border/options.js";
import { Answers } from "../call/answers.js";
import type { CallRequestedEvent } from "../call/events.js";
import { lineOf } from "../call/remote.js";
import { restored } from "../call/wire-value.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { logger } from "../logging.js";
import type { RegistryServer } from "../native-binding.js";
import { lookAround } from "../registry/native-handler.js";
import type { NativeTwin } from "../registry/native-twin.js";
import { OperationRegistry } from "../registry/registry.js";
import { native, runtime } from "../runtime.js";
import { Description } from "./describe.js";
import { describeHttp } from "./describe-http.js";
import { type AskedIdentity, failureOf, type Identify, identified } from "./identify.js";
import { type ClientAnswer, ClientLine, type Offers } from "./line.js";
import { checkedServe, nativeOptions, type ServeOptions } from "./options.js";
import { hostSpec, searchTools } from "./search-tools.js";

/**
 * How `close` goes about it.
 *
 * @example
 * ```ts
 * const options: ServeCloseOptions = { drain: 30_000 };
 * ```
 */
export interface ServeCloseOptions {
  /** How long running calls may take to finish, in milliseconds (default 10,000). */
  drain?: number;
}

/**
 * What a server has counted.
 *
 * @example
 * ```ts
 * const stats: ServeStats = served.stats();
 * ```
 */
export interface ServeStats {
  /** Open now. */
  connections: number;
  /** Since it was made. */
  requests: number;
  /** Being answered now. */
  running: number;
  /** Waiting for a place now (`concurrency`, `perOperation`, `perCaller`). */
  waiting: number;
  /** Answered with a status of 4XX. */
  refused: number;
  /** Answered with a status of 5XX. */
  failed: number;
}

/**
 * A registry that is served.
 *
 * @example
 * ```ts
 * const served: Served = await serve(registry, { doors: { http: true } });
 * console.log(`Listening at ${served.url}`);
 * await served.close();
 * ```
 */
export interface Served {
  /** Where, as this machine reaches it: `http://127.0.0.1:8080`. */
  readonly url: string;
  /** What was counted. */
  readonly stats: () => ServeStats;
  /** What is at an address is another: MCP clients that watch it (`resources/subscribe`) are told. */
  readonly resourceUpdated: (uri: string) => void;
  /** Takes nothing new, ends streams, lets running calls finish, and ends what is left after `drain`. */
  readonly close: (options?: ServeCloseOptions) => Promise<void>;
  /** `await using served = await serve(...)` closes it at the end of the block. */
  [Symbol.asyncDispose](): Promise<void>;
}

export const DRAIN_FOR = 10_000;
/** How often what is served is looked at for changes that nobody tells of. In milliseconds. */
export const LOOK_EVERY = 100;

const log = logger("serve");

/** A call, as the native side hands it over. */
type AskedCall = CallRequestedEvent & { client?: Offers };

/**
 * Serves the operations of a registry. Access rules hold for every caller; internal operations do not exist.
 *
 * @example
 * ```ts
 * const served = await serve(registry, { port: 8080, doors: { http: true } });
 * await fetch(`${served.url}/api/demo/greet`, {
 *   method: "POST",
 *   headers: { "content-type": "application/json" },
 *   body: JSON.stringify({ name: "Ada" }),
 * });
 * await served.close();
 * ```
 */
export async function serve(registry: OperationRegistry, options: ServeOptions): Promise<Served> {
  const checked = checkedServe(options);
  if (!(registry instanceof OperationRegistry)) {
    throw new CallError(InfrastructureErrorCode.VALIDATION_ERROR, "serve: an OperationRegistry is needed");
  }
  const offered = new Offered(registry, checked);
  const url = await keepAliveDuring(offered.native.listen(checked.host ?? "127.0.0.1", checked.port ?? 0));
  return new Listening(offered, url);
}

/** A registry on the native side, and what it asks of us. */
export class Offered implements Receiver {
  readonly native: RegistryServer;
  readonly #registry: OperationRegistry;
  readonly #twin: NativeTwin;
  readonly #answers: Answers;
  readonly #inbox = new Inbox(this);
  readonly #isShown: ServeOptions["operations"];
  readonly #identify: Identify | undefined;
  readonly #description = new Description();
  /** With `catalogue: "search"`: the tools of the MCP door. */
  readonly #tools: OperationRegistry | undefined;
  readonly #toolAnswers: Answers | undefined;
  /** The ids that the user's own function has let pass; nothing for all. */
  #shown: ReadonlySet<string> | undefined;
  #revision = -1;

  constructor(registry: OperationRegistry, options: ServeOptions) {
    this.#registry = registry;
    this.#isShown = options.operations;
    this.#identify = options.identify;
    this.#twin = registry.nativeTwin();
    this.native = new native.RegistryServer(
      runtime,
      this.#inbox.mailbox,
      this.#twin.native,
      nativeOptions(options),
    );
    this.#answers = new Answers(this.native, registry, {
      overrun: options.overrun,
      concurrency: options.concurrency,
      handsOutFiles: true,
    });
    this.#tools = searchTools(registry, options, (id) => this.#shown?.has(id) !== false);
    if (this.#tools !== undefined) {
      this.native.addTools(this.#tools.list().map(hostSpec));
      this.#toolAnswers = new Answers(this.native, this.#tools, {
        overrun: options.overrun,
        concurrency: options.concurrency,
        handsOutFiles: true,
      });
    }
    this.#choose();
  }

  asked(id: string, asked: AskedCall | { identify: AskedIdentity } | { describe: true | "http" }): void {
    if ("identify" in asked) {
      void this.#tellIdentity(id, asked.identify);
      return;
    }
    if ("describe" in asked) {
      const isPlain = asked.describe === "http";
      const text = isPlain
        ? describeHttp(this.#registry)
        : this.#description.text(this.#registry, this.#tools);
      this.native.sendEvent(id, text);
      return;
    }
    lookAround();
    const { client, operationId } = asked;
    const isTool = this.#tools?.entry(operationId) !== undefined;
    const answers = (isTool && this.#toolAnswers) || this.#answers;
    answers.requested(
      restored(asked),
      client === undefined ? undefined : new ClientLine(this.native, id, client),
    );
  }

  /** A client answers a question of a handler. */
  event(id: string, answer: ClientAnswer): void {
    const line = this.#answers[lineOf](id) ?? this.#toolAnswers?.[lineOf](id);
    if (line instanceof ClientLine) line.answered(answer);
  }

  async #tellIdentity(id: string, asked: AskedIdentity): Promise<void> {
    try {
      this.native.sendEvent(id, await identified(this.#identify as Identify, asked));
    } catch (error) {
      const { code, message, details } = failureOf(error);
      this.native.fail(id, code, message, details === undefined ? null : JSON.stringify(details));
    }
  }

  aborted(requestId: string): void {
    this.#answers.aborted(requestId);
    this.#toolAnswers?.aborted(requestId);
  }

  goOn(requestId: string): void {
    this.#answers.mayGoOn(requestId);
    this.#toolAnswers?.mayGoOn(requestId);
  }

  /** What is at an address is another. */
  resourceUpdated(uri: string): void {
    if (typeof uri !== "string") {
      throw new CallError(InfrastructureErrorCode.VALIDATION_ERROR, "resourceUpdated: an address is needed");
    }
    this.native.resourceUpdated(uri);
  }

  /** Called now and then. */
  readonly look = (): void => {
    this.#twin.look();
    this.#choose();
    if (this.#description.isOutdated) this.native.touch();
  };

  /** Sends and takes what waits. */
  flush(): void {
    this.#answers.flush();
    this.#toolAnswers?.flush();
    this.#inbox.drain();
  }

  /** What is registered later is served once the user's own function has had a look at it. */
  #choose(): void {
    const isShown = this.#isShown;
    const { revision } = this.#registry;
    if (isShown === undefined || revision === this.#revision) return;
    this.#revision = revision;
    const shown = this.#registry.getAllSpecs().filter((spec) => {
      try {
        return isShown(spec) === true;
      } catch (error) {
        log.error(`${spec.namespace}.${spec.name} is not served: operations() threw ${String(error)}`);
        return false;
      }
    });
    this.#shown = new Set(shown.map(({ namespace, name }) => `${namespace}.${name}`));
    this.native.showOnly([...this.#shown]);
  }
}

/** One that is up until it is closed. */
export class Listening implements Served {
  readonly url: string;
  readonly #offered: Offered;
  readonly #looking: NodeJS.Timeout;
  #closing: Promise<void> | undefined;

  constructor(offered: Offered, url: string) {
    this.url = url;
    this.#offered = offered;
    this.#looking = setInterval(offered.look, LOOK_EVERY).unref();
    // A server stays up until it is closed.
    keepAlive(this);
  }

  // Functions of the object and not of its class, so that they can be taken out of it.

  readonly stats = (): ServeStats => JSON.parse(this.#offered.native.stats());

  readonly resourceUpdated = (uri: string): void => this.#offered.resourceUpdated(uri);

  readonly close = async (options: ServeCloseOptions = {}): Promise<void> => {
    const { drain = DRAIN_FOR } = checkedOptions<ServeCloseOptions>(
      options,
      { drain: aPatience },
      { prefix: "close: " },
    );
    this.#closing ??= this.#close(drain);
    await this.#closing;
  };

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(drain: number): Promise<void> {
    this.#offered.flush();
    try {
      await keepAliveDuring(this.#offered.native.close(drain));
      // Calls that were ended are told so.
      this.#offered.flush();
    } finally {
      clearInterval(this.#looking);
      letGo(this);
    }
  }
}
