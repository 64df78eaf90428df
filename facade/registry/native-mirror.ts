// The counterpart of a registry in Rust, for calls that arrive there: what needs no JavaScript is served without it.

import { later, onNextTurn, withoutContext } from "../interop/host.js";
import { messageOf } from "../interop/text.js";
import { logger } from "../logging.js";
import type { NativeRegistry } from "../native-binding.js";
import { native, runtime } from "../runtime.js";
import { compiled } from "../schema/compiled.js";
import { registeredFormats } from "../schema/registries.js";
import type { OperationSpec } from "../types.js";
import { declaredErrors, describeOperation } from "./describe-operation.js";
import { type Entry, isAnything, type OutputMode } from "./entry.js";
import { traitsOf } from "./handler-traits.js";
import { type NativeSchemas, type NativeWork, refreshNativeState } from "./native-handler.js";
import { deliverReports } from "./native-reports.js";
import { NO_OBSERVERS, type Observers } from "./observers.js";
import { warnIfOpen } from "./open-sources.js";
import { ownMode } from "./output.js";
import { type EffectiveRules, hasCustomAuth, isWellFormed } from "./rules.js";
import { spillsOf } from "./spill-result.js";
import type { Spills } from "./spills.js";

const log = logger("registry");

/** In ms. What programs change without a call to a registry is noticed after this time. */
const REFRESH_EVERY = 100;

const mirrors = new Set<WeakRef<NativeMirror>>();
let isFollowing = false;

/** Keeps a registry up to date as long as it is in use, and reports what is not reported yet when the process ends. */
function follow(mirror: NativeMirror): void {
  if (!isFollowing) {
    isFollowing = true;
    process.once("exit", () => eachMirror((each) => each.flush()));
  }
  if (mirrors.size === 0) later(refreshAll, REFRESH_EVERY);
  mirrors.add(new WeakRef(mirror));
}

function refreshAll(): void {
  eachMirror((mirror) => mirror.refresh());
  if (mirrors.size > 0) later(refreshAll, REFRESH_EVERY);
}

function eachMirror(act: (mirror: NativeMirror) => void): void {
  for (const reference of mirrors) {
    const mirror = reference.deref();
    if (mirror === undefined) mirrors.delete(reference);
    else act(mirror);
  }
}

/** Made when a registry is first served; then it follows each registration, and checks now and then for what changed without one. */
export class NativeMirror {
  readonly native: NativeRegistry;
  #formats = "";
  readonly #watchers = new Set<MirrorWatcher>();

  readonly #entries: Map<string, Entry>;
  #observers: Observers | undefined;
  /** Middleware may change every call. */
  #isHeld: boolean;
  /** What the native side reports now. */
  #wants = 0;
  #unreported = 0;
  /** Where large results go. */
  readonly #spills: Spills | undefined;

  constructor(
    output: OutputMode,
    entries: Map<string, Entry>,
    observers: Observers | undefined,
    spills: Spills | undefined,
  ) {
    this.#spills = spills;
    this.native = new native.NativeRegistry(runtime, output);
    this.#entries = entries;
    this.#observers = observers;
    this.#isHeld = this.#mustHold();
    this.#requestReports();
    for (const entry of entries.values()) this.set(entry);
    follow(this);
  }

  observedBy(observers: Observers | undefined): void {
    this.#observers = observers;
    this.#followObservers();
  }

  #mustHold(): boolean {
    return this.#observers?.needsJavaScript === true;
  }

  #followObservers(): void {
    this.#requestReports();
    const isHeld = this.#mustHold();
    if (isHeld === this.#isHeld) return;
    this.#isHeld = isHeld;
    for (const entry of this.#entries.values()) this.set(entry);
  }

  #requestReports(): void {
    const { wants } = this.#observers ?? NO_OBSERVERS;
    if (wants === this.#wants) return;
    const mirror = new WeakRef(this);
    this.#wants = wants;
    this.native.report(wants, () => {
      const living = mirror.deref();
      if (living !== undefined) withoutContext(() => living.#take());
    });
  }

  /** Calls whose reports were dropped, because JavaScript was too busy to take them. */
  get unreported(): number {
    return this.#unreported;
  }

  /** Delivers the reports of every call that the native side has done so far. */
  flush(): void {
    while (this.#deliver());
  }

  /** Delivers a batch at a time: the event loop has other work too. */
  #take(): void {
    if (this.#deliver()) onNextTurn(() => this.#take());
  }

  /** Returns whether there are more. It does not throw: it is called by the event loop itself. */
  #deliver(): boolean {
    const batch = this.native.takeReports();
    if (batch === null) return false;
    try {
      const { dropped, hasMore } = deliverReports(batch, this.#observers ?? NO_OBSERVERS);
      if (dropped > 0) {
        this.#unreported += dropped;
        log.warn(`${dropped} calls were not reported: JavaScript was too busy to take the reports`, {
          dropped,
        });
      }
      return hasMore;
    } catch (error) {
      log.error(`Failed to report calls that ran without JavaScript: ${messageOf(error)}`);
      return true;
    }
  }

  /** Has a function called for every change. Returns a function that ends that. */
  watch(watcher: MirrorWatcher): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** Takes an operation over, as it is now. */
  set(entry: Entry): void {
    // An internal one is called for callers, too.
    if (traitsOf(entry.handler).tradesCallerTokens === true) this.native.wantCallerTokens();
    // Internal operations do not exist for calls from outside.
    if (entry.isInternal) {
      this.remove(entry.id);
      return;
    }
    const afterwards = Array.from(this.#watchers, (watcher) => watcher(entry.id, entry));
    this.#set(entry);
    for (const callback of afterwards) callback?.();
  }

  #set(entry: Entry): void {
    const { id, spec, handler, standard, gate, rules, isGated } = entry;
    warnIfOpen(id, handler, rules);
    // First, so that no call slips through.
    this.native.limit(id, gate?.native);
    this.#setFormats();
    const work = traitsOf(handler).nativeWork;
    const spills = spillsOf(handler, this.#spills);
    // What another library checks is checked in JavaScript, and approvals are there.
    if (
      !isGated &&
      !this.#isHeld &&
      work?.isPossible() &&
      standard === undefined &&
      isWellFormed(rules) &&
      !hasCustomAuth(rules)
    ) {
      refreshNativeState();
      const schemas = schemasOf(spec, work);
      if (schemas !== undefined) {
        work.register(this.native, describe(spec, rules, ownMode(spec), spills), schemas, spills);
        return;
      }
    }
    this.native.setHost(describe(spec, NEVER, undefined, spills));
  }

  remove(id: string): void {
    this.native.remove(id);
    for (const watcher of this.#watchers) watcher(id, undefined);
  }

  /** Checks what programs change without a call to this registry: formats, a replaced `fetch`, subscribers to the
   * diagnostics channel and the log level. */
  refresh(): void {
    this.#followObservers();
    refreshNativeState();
    this.#setFormats();
  }

  /** Formats that users have registered are checked by functions of theirs. */
  #setFormats(): void {
    const names = registeredFormats();
    const formats = JSON.stringify(names);
    if (formats === this.#formats) return;
    this.#formats = formats;
    this.native.setHostFormats(names);
  }
}

/** Called with an operation before it can be called from outside; what it returns is called afterwards. Without an entry,
 * it cannot be called any more. */
export type MirrorWatcher = (id: string, entry: Entry | undefined) => (() => void) | undefined;

/** JavaScript authorises what it serves; the native side never does. */
const NEVER: EffectiveRules = { requiredScopes: [], customAuth: "JavaScript" };

/** What the native side has to know of a spec. */
function describe(
  spec: OperationSpec,
  accessControl: EffectiveRules,
  output: OutputMode | undefined,
  store: Spills | undefined,
): string {
  const errors = declaredErrors(spec);
  return describeOperation(spec, { accessControl, output, errors, spills: store !== undefined });
}

/** The schemas; `undefined` if one cannot be used, which the first call will report. */
function schemasOf(spec: OperationSpec, work: NativeWork): NativeSchemas | undefined {
  const schemas: NativeSchemas = { input: undefined, output: undefined, own: 0 };
  try {
    if (work.ownsSchema(spec, "inputSchema")) schemas.own |= 1;
    else if (!isAnything(spec.inputSchema)) schemas.input = compiled(spec.inputSchema).native;
    if (work.ownsSchema(spec, "outputSchema")) schemas.own |= 2;
    else if (!isAnything(spec.outputSchema)) schemas.output = compiled(spec.outputSchema).native;
    return schemas;
  } catch {
    return undefined;
  }
}
