// A call that is being served.

import { identityIn } from "../registry/authorise.js";
import { buildEnv } from "../registry/env.js";
import { setProperty } from "../registry/offered-env.js";
import { contextFromOutside, markOutside, markVia, type Via } from "../registry/protocol-context.js";
import type { OperationRegistry } from "../registry/registry.js";
import type { OperationContext, OperationEnv } from "../types.js";
import type { CallRequestedEvent } from "./events.js";
import type { Line } from "./remote.js";

/** Under this, a context knows the call that it is for. */
const CALL = Symbol("@alkdev/operations: the call of a context");

interface OfCall {
  readonly [CALL]: Running;
}

/** Properties of a context of its own, so that a copy has them too. The functions are the same for each context: with
 * functions of their own, each would be a hidden class of its own to V8, whose garbage collector keeps those, and all that
 * they hold, until it looks at everything. */
const MADE_WHEN_ASKED: Record<"signal" | "env", PropertyDescriptor & ThisType<OfCall>> = {
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
    get() {
      return this[CALL].makeEnv();
    },
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
  /** Whether it holds a place, or waits for one. */
  hasPlace = false;
  /** Its handler has begun, and not ended. */
  isWorking = false;
  runsOn = false;
  /** Tells whoever serves it that it is over, even if it never began. */
  settle: (() => void) | undefined;

  /** Where the handler may talk with its client. */
  readonly #line: Line | undefined;

  /** What the handler was given, and whose operation it is. */
  #context: OperationContext | undefined;
  #registry: OperationRegistry | undefined;

  /** How it came. */
  readonly #via: Via | undefined;

  constructor(request: CallRequestedEvent, line: Line | undefined, via: Via | undefined) {
    this.request = request;
    this.#via = via;
    this.#line = line;
  }

  get isAborted(): boolean {
    return this.#isAborted;
  }

  /** Made when somebody asks: it costs more than all the rest of a call. */
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
    this.#controller?.abort();
    this.stopping = this.onAbort?.();
  }

  /** Puts a value in the place of what would be made: the context is the handler's to change, as any other. */
  replace(name: "signal" | "env", value: unknown): void {
    setProperty(this.#context as OperationContext, name, value);
  }

  /** The other operations, for the handler. */
  makeEnv(): OperationEnv {
    const env = buildEnv({
      registry: this.#registry as OperationRegistry,
      context: this.#context as OperationContext,
    });
    this.replace("env", env);
    markOutside(env);
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
    Object.defineProperty(context, "signal", MADE_WHEN_ASKED.signal);
    Object.defineProperty(context, "env", MADE_WHEN_ASKED.env);
    if (parentRequestId !== undefined) context.parentRequestId = parentRequestId;
    if (identity !== undefined) context.identity = identity;
    if (metadata !== undefined) context.metadata = metadata;
    if (deadline !== undefined) context.deadline = deadline;
    if (trace !== undefined) context.trace = trace;
    if (this.#via !== undefined) markVia(context, this.#via);
    if (this.#line !== undefined) Object.assign(context, this.#line.context);
    return context;
  }
}
