// Those who have a say in the calls of a registry, or look on: middleware, listeners, auditors. A registry has one of these
// only while there is somebody.

import { messageOf } from "../border/text.js";
import type { ResponseEnvelope } from "../envelope.js";
import { mapError } from "../errors.js";
import { logger } from "../logging.js";
import type { OperationContext, OperationSpec } from "../types.js";
import { identityIdOf } from "./audit.js";
import { identityIn } from "./authorise.js";
import { type NativeSpans, WANTS } from "./native-reports.js";
import { isTold, tellOutside } from "./told.js";
import type { AccessReport, CallKind, CallReport, Middleware, RegistryEvents } from "./watch-types.js";

const log = logger("registry");

type Listener<T> = (event: T) => unknown;

/** Stands around calls in JavaScript without changing them, and is told afterwards of those that were done without it. */
export interface Observer {
  readonly middleware: Middleware;
  /** Whether calls may be done without JavaScript. */
  readonly takesNative: boolean;
  /** Whether they are to hand their trace on. */
  readonly sendsTraces: boolean;
  /** Whether it has to be asked before a call begins a trace of its own. */
  readonly decidesRoots: boolean;
  /** A call has ended that was done without JavaScript. */
  ended(report: CallReport, spans: NativeSpans): void;
}

export class Watch {
  /** In order of registration. A new list for each change: calls that are under way keep theirs. */
  middleware: readonly Middleware[] = [];
  readonly #listeners: { readonly [Name in keyof RegistryEvents]: Set<Listener<RegistryEvents[Name]>> } = {
    call: new Set(),
    denied: new Set(),
    registered: new Set(),
    unregistered: new Set(),
  };
  readonly #auditors = new Set<Listener<AccessReport>>();
  /** Those of the middleware that only look on. */
  readonly #observers = new Map<Middleware, Observer>();

  /** Whether there is nobody. */
  get isIdle(): boolean {
    const sets = [...Object.values(this.#listeners), this.#auditors];
    return this.middleware.length === 0 && sets.every((set) => set.size === 0);
  }

  /** Whether every call has to pass through JavaScript: somebody stands around it who may change it. Those who look on are told
   * afterwards of what was done without. */
  get needsJavaScript(): boolean {
    const observers = Array.from(this.#observers.values());
    return (
      this.middleware.length > observers.length ||
      observers.length > 1 ||
      !observers.every(({ takesNative }) => takesNative)
    );
  }

  /** What is to be told of calls that were done without JavaScript (`WANTS`). */
  get wants(): number {
    let wants = 0;
    if (this.isReporting) wants |= WANTS.calls;
    if (this.#listeners.denied.size > 0) wants |= WANTS.denials;
    if (this.#auditors.size > 0) wants |= WANTS.grants;
    for (const { sendsTraces, decidesRoots } of this.#observers.values()) {
      wants |= sendsTraces ? WANTS.spans | WANTS.traces : WANTS.spans;
      if (decidesRoots) wants |= WANTS.sampling;
    }
    return wants;
  }

  /** Whether decisions about access are to be told. */
  get isAuditing(): boolean {
    return this.#auditors.size > 0 || this.#listeners.denied.size > 0;
  }

  /** Whether calls are to be told. */
  get isReporting(): boolean {
    return this.#listeners.call.size > 0 || isTold();
  }

  use(middleware: Middleware): () => void {
    const own: Middleware = (call, next) => middleware(call, next);
    this.middleware = [...this.middleware, own];
    return () => {
      this.middleware = this.middleware.filter((each) => each !== own);
    };
  }

  /** The same for somebody who changes nothing. */
  observe(observer: Observer): () => void {
    const remove = this.use(observer.middleware);
    const own = this.middleware.at(-1) as Middleware;
    this.#observers.set(own, observer);
    return () => {
      this.#observers.delete(own);
      remove();
    };
  }

  on<Name extends keyof RegistryEvents>(name: Name, listener: Listener<RegistryEvents[Name]>): () => void {
    return added(this.#listeners[name] as Set<Listener<RegistryEvents[Name]>>, listener);
  }

  audit(listener: Listener<AccessReport>): () => void {
    return added(this.#auditors, listener);
  }

  tell<Name extends keyof RegistryEvents>(name: Name, event: RegistryEvents[Name]): void {
    tellAll(this.#listeners[name] as Set<Listener<RegistryEvents[Name]>>, event, name);
  }

  /** A decision about access. */
  decided(report: AccessReport): void {
    tellAll(this.#auditors, report, "audit");
    if (!report.isGranted) this.tell("denied", report);
  }

  /** A call has ended that was done without JavaScript. */
  endedNatively(report: CallReport, spans: NativeSpans | undefined): void {
    this.ended(report);
    if (spans === undefined) return;
    for (const observer of this.#observers.values()) {
      try {
        observer.ended(report, spans);
      } catch (error) {
        log.error(`The spans of a call could not be made: ${messageOf(error)}`);
      }
    }
  }

  /** A call has ended. */
  ended(report: CallReport): void {
    this.tell("call", report);
    try {
      tellOutside(report);
    } catch (error) {
      log.error(`A call could not be reported: ${messageOf(error)}`);
    }
  }
}

/** For calls that only the diagnostics channel or the log wants to know of. */
export const NOBODY = new Watch();

/** Each registration counts, also of a function that is there already. */
function added<T>(set: Set<Listener<T>>, listener: Listener<T>): () => void {
  const own: Listener<T> = (event) => listener(event);
  set.add(own);
  return () => void set.delete(own);
}

/** What a listener throws, now or later, harms nobody. */
function tellAll<T>(listeners: ReadonlySet<Listener<T>>, event: T, name: string): void {
  for (const listener of listeners) {
    try {
      const result: unknown = listener(event);
      if (result instanceof Promise) result.catch((error: unknown) => complain(name, error));
    } catch (error) {
      complain(name, error);
    }
  }
}

function complain(name: string, error: unknown): void {
  log.error(`A listener to "${name}" of a registry failed: ${messageOf(error)}`);
}

/** What will be reported of a call, from its beginning on. */
export class Clocked {
  readonly #startedAt = Date.now();
  readonly #began = performance.now();
  readonly #watch: Watch;
  readonly #operationId: string;
  readonly #operation: OperationSpec | undefined;
  readonly #kind: CallKind;
  readonly #context: OperationContext;
  readonly #isServed: boolean;

  constructor(
    watch: Watch,
    operationId: string,
    operation: OperationSpec | undefined,
    kind: CallKind,
    context: OperationContext,
    isServed: boolean,
  ) {
    this.#watch = watch;
    this.#operationId = operationId;
    this.#operation = operation;
    this.#kind = kind;
    this.#context = context;
    this.#isServed = isServed;
  }

  /** It has given this; of a stream, `last` is its last event. */
  answered(last: ResponseEnvelope | undefined, events?: number): void {
    const meta = last?.meta;
    const isToolError = meta?.source === "mcp" && meta.isError;
    this.#end({
      outcome: isToolError ? "error" : "ok",
      ...(isToolError && { code: "TOOL_ERROR" }),
      ...(meta !== undefined && { source: meta.source }),
      ...(events !== undefined && { events }),
    });
  }

  failed(error: unknown, events?: number): void {
    const { code } = mapError(error, this.#operation?.errorSchemas);
    this.#end({ outcome: "error", code, error, ...(events !== undefined && { events }) });
  }

  #end(outcome: Pick<CallReport, "outcome" | "code" | "error" | "source" | "events">): void {
    const { requestId, parentRequestId } = this.#context;
    const identityId = identityIdOf(identityIn(this.#context));
    this.#watch.ended({
      operationId: this.#operationId,
      kind: this.#kind,
      ...outcome,
      startedAt: this.#startedAt,
      duration: performance.now() - this.#began,
      ...(requestId !== undefined && { requestId }),
      ...(parentRequestId !== undefined && { parentRequestId }),
      ...(identityId !== undefined && { identityId }),
      isServed: this.#isServed,
      isNative: false,
    });
  }
}
