// A call that is being served.

import { identityIn } from "../registry/authorise.js";
import type { Via } from "../registry/call.js";
import { markGetter, ownEnv, setProperty } from "../registry/offered-env.js";
import { contextFromOutside, runForOutside } from "../registry/origin.js";
import type { OperationRegistry } from "../registry/registry.js";
import type { OperationContext, OperationEnv } from "../types.js";
import { setCallerToken } from "./caller-token.js";
import type { CallRequestedEvent } from "./events.js";
import type { ClientChannel } from "./remote.js";

/** Under this, a context knows the call that it is for. */
const CALL = Symbol("@alkdev/operations: the call of a context");

interface OfCall {
  readonly [CALL]: Running;
}

/** Properties of a context of its own, so that a copy has them too. The functions are the same for each context: with
 * functions of their own, each would be a hidden class of its own to V8, whose garbage collector keeps those, and all that
 * they hold, until it checks everything. */
const MADE_WHEN_READ: Record<"signal" | "env", PropertyDescriptor & ThisType<OfCall>> = {
  signal: {
    get() {
      return this[CALL].signal;
    },
    set(signal: AbortSignal) {
      this[CALL].replace("signal", signal);
    },
    enumerable: true,
    configurable: true,
  },
  env: {
    get: markGetter(function (this: OfCall) {
      return this[CALL].makeEnv();
    }),
    set(env: OperationEnv) {
      this[CALL].replace("env", env);
    },
    enumerable: true,
    configurable: true,
  },
};

export class Running {
  readonly request: CallRequestedEvent;
  #controller: AbortController | undefined;
  #isAborted = false;
  /** What stops the work, beside the signal; resolves when it has stopped. */
  onAbort: (() => Promise<unknown>) | undefined;
  /** The work is being stopped. */
  stopping: Promise<unknown> | undefined;
  cancelDeadline: (() => void) | undefined;
  cancelTimeout: (() => void) | undefined;
  /** When its stream last had an event. */
  heardAt = 0;
  /** Whether it holds a permit, or waits for one. */
  hasPermit = false;
  /** Its handler has begun, and not ended. */
  isWorking = false;
  isAbandoned = false;
  /** Resolves the promise of the call handler: the call is over, even if it never began. */
  settle: (() => void) | undefined;

  /** Where the handler may talk with its client. */
  readonly #channel: ClientChannel | undefined;

  /** What the handler was given, and whose operation it is. */
  #context: OperationContext | undefined;
  #registry: OperationRegistry | undefined;

  /** What the caller has shown, for sources that trade it. */
  readonly #callerToken: string | undefined;

  /** How it came. */
  readonly via: Via | undefined;

  constructor(
    request: CallRequestedEvent,
    channel: ClientChannel | undefined,
    via: Via | undefined,
    callerToken: string | undefined,
  ) {
    this.#callerToken = callerToken;
    this.request = request;
    this.via = via;
    this.#channel = channel;
  }

  get isAborted(): boolean {
    return this.#isAborted;
  }

  /** Made when it is first read: it costs more than all the rest of a call. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isAborted) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  abort(): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    // Its listeners run on behalf of the caller.
    runForOutside(() => this.#controller?.abort());
    this.stopping = this.onAbort?.();
  }

  /** Puts a value in the place of what would be made: the context is the handler's to change, as any other. */
  replace(name: "signal" | "env", value: unknown): void {
    setProperty(this.#context as OperationContext, name, value);
  }

  /** The other operations, for the handler. */
  makeEnv(): OperationEnv {
    const env = ownEnv(this.#registry as OperationRegistry, this.#context as OperationContext);
    this.replace("env", env);
    return env;
  }

  /** What the handler learns. `trusted` is neither read from an event nor set. */
  context(registry: OperationRegistry): OperationContext {
    const { requestId, parentRequestId, metadata, deadline, trace } = this.request;
    const identity = identityIn(this.request);
    const context = contextFromOutside(requestId);
    this.#registry = registry;
    this.#context = context;
    Object.defineProperty(context, CALL, { value: this });
    // One by one: `defineProperties` takes half as long again as all of this.
    Object.defineProperty(context, "signal", MADE_WHEN_READ.signal);
    Object.defineProperty(context, "env", MADE_WHEN_READ.env);
    if (parentRequestId !== undefined) context.parentRequestId = parentRequestId;
    if (identity !== undefined) context.identity = identity;
    if (metadata !== undefined) context.metadata = metadata;
    if (deadline !== undefined) context.deadline = deadline;
    if (trace !== undefined) context.trace = trace;
    setCallerToken(context, this.#callerToken);
    if (this.#channel !== undefined) Object.assign(context, this.#channel.context);
    return context;
  }
}
