// The middleware, listeners and auditors of a registry, which has such an object only while there are any.

import type { ResponseEnvelope } from "../envelope.js";
import { mapError } from "../errors.js";
import { type Listener, Listeners } from "../interop/listeners.js";
import { messageOf } from "../interop/text.js";
import { logger } from "../logging.js";
import type { OperationSpec } from "../types.js";
import { identityIdOf } from "./audit.js";
import { identityIn } from "./authorise.js";
import type { Call } from "./call.js";
import { hasSubscribers, publishCall } from "./call-diagnostics.js";
import { type NativeSpans, WANTS } from "./native-reports.js";
import type { AccessReport, CallReport, Middleware, RegistryEvents } from "./observer-types.js";

const log = logger("registry");

/** Middleware that changes nothing. It gets a report of each call that was done without JavaScript. */
export interface Observer {
  readonly middleware: Middleware;
  /** Whether calls may be done without JavaScript. */
  readonly takesNative: boolean;
  /** Whether they are to hand their trace on. */
  readonly sendsTraces: boolean;
  /** Whether it is consulted before a call begins a trace of its own. */
  readonly decidesRoots: boolean;
  /** A call has ended that was done without JavaScript. */
  ended(report: CallReport, spans: NativeSpans): void;
}

export class Observers {
  /** In order of registration. A new list for each change: calls that are under way keep theirs. */
  middleware: readonly Middleware[] = [];
  readonly #listeners: { readonly [Name in keyof RegistryEvents]: Listeners<RegistryEvents[Name]> } = {
    call: listenersTo("call"),
    denied: listenersTo("denied"),
    registered: listenersTo("registered"),
    unregistered: listenersTo("unregistered"),
  };
  readonly #auditors = listenersTo<AccessReport>("audit");
  /** Those of the middleware that change nothing. */
  readonly #observers = new Map<Middleware, Observer>();

  /** Whether there are none. */
  get isIdle(): boolean {
    const all = [...Object.values(this.#listeners), this.#auditors];
    return this.middleware.length === 0 && all.every(({ size }) => size === 0);
  }

  /** Whether every call has to pass through JavaScript, because middleware may change it. */
  get needsJavaScript(): boolean {
    const observers = Array.from(this.#observers.values());
    return (
      this.middleware.length > observers.length ||
      observers.length > 1 ||
      !observers.every(({ takesNative }) => takesNative)
    );
  }

  /** What is to be reported of calls that were done without JavaScript (`WANTS`). */
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

  /** Whether access decisions are to be reported. */
  get isAuditing(): boolean {
    return this.#auditors.size > 0 || this.#listeners.denied.size > 0;
  }

  /** Whether calls are to be reported. */
  get isReporting(): boolean {
    return this.#listeners.call.size > 0 || hasSubscribers();
  }

  use(middleware: Middleware): () => void {
    const own: Middleware = (call, next) => middleware(call, next);
    this.middleware = [...this.middleware, own];
    return () => {
      this.middleware = this.middleware.filter((each) => each !== own);
    };
  }

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
    return this.#listeners[name].add(listener);
  }

  audit(listener: Listener<AccessReport>): () => void {
    return this.#auditors.add(listener);
  }

  notify<Name extends keyof RegistryEvents>(name: Name, event: RegistryEvents[Name]): void {
    this.#listeners[name].notify(event);
  }

  /** Reports an access decision. */
  decided(report: AccessReport): void {
    this.#auditors.notify(report);
    if (!report.isGranted) this.notify("denied", report);
  }

  /** Reports the end of a call that was done without JavaScript. */
  endedNatively(report: CallReport, spans: NativeSpans | undefined): void {
    this.ended(report);
    if (spans === undefined) return;
    for (const observer of this.#observers.values()) {
      try {
        observer.ended(report, spans);
      } catch (error) {
        log.error(`Failed to make the spans of a call: ${messageOf(error)}`);
      }
    }
  }

  /** Reports the end of a call. */
  ended(report: CallReport): void {
    this.notify("call", report);
    try {
      publishCall(report);
    } catch (error) {
      log.error(`Failed to report a call: ${messageOf(error)}`);
    }
  }
}

/** For calls that are reported to the diagnostics channel or the log only. */
export const NO_OBSERVERS = new Observers();

/** What a listener throws, now or later, is logged. */
function listenersTo<T>(name: string): Listeners<T> {
  return new Listeners((error) => {
    log.error(`A listener to "${name}" of a registry failed: ${messageOf(error)}`);
  });
}

/** Measures a call, and reports its end. */
export class CallTimer {
  readonly #startedAt = Date.now();
  readonly #began = performance.now();
  readonly #observers: Observers;
  readonly #call: Call;
  readonly #spec: OperationSpec | undefined;

  constructor(observers: Observers, call: Call, spec: OperationSpec | undefined) {
    this.#observers = observers;
    this.#call = call;
    this.#spec = spec;
  }

  /** The call was answered; `last` is the last event of a stream. */
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
    const { code } = mapError(error, this.#spec?.errorSchemas);
    this.#end({ outcome: "error", code, error, ...(events !== undefined && { events }) });
  }

  #end(outcome: Pick<CallReport, "outcome" | "code" | "error" | "source" | "events">): void {
    const { id, kind, context, origin } = this.#call;
    const { requestId, parentRequestId } = context;
    const identityId = identityIdOf(identityIn(context));
    this.#observers.ended({
      operationId: id,
      kind,
      ...outcome,
      startedAt: this.#startedAt,
      duration: performance.now() - this.#began,
      ...(requestId !== undefined && { requestId }),
      ...(parentRequestId !== undefined && { parentRequestId }),
      ...(identityId !== undefined && { identityId }),
      isServed: origin.isServed,
      isNative: false,
    });
  }
}
