// A registry once more, in Rust, for calls that arrive there: what needs no JavaScript is then served without it.

import { later, onNextTurn, withoutContext } from "../border/host.js";
import { messageOf } from "../border/text.js";
import { logger } from "../logging.js";
import type { NativeRegistry } from "../native-binding.js";
import { native, runtime } from "../runtime.js";
import { compiled } from "../schema/compiled.js";
import { registeredFormats } from "../schema/registries.js";
import type { OperationSpec } from "../types.js";
import { declaredErrors } from "./described.js";
import { type Entry, isAnything, type OutputMode } from "./entry.js";
import { traitsOf } from "./handler-traits.js";
import { lookAround, type NativeSchemas, type NativeWork } from "./native-handler.js";
import { tellReports } from "./native-reports.js";
import { tellIfOpen } from "./open-sources.js";
import { ownMode } from "./output.js";
import { type EffectiveRules, hasCustomAuth, isWellFormed } from "./rules.js";
import { spillsOf } from "./spilling.js";
import type { Spills } from "./spills.js";
import { NOBODY, type Watch } from "./watch.js";

const log = logger("registry");

/** In ms. What programs change without a call to a registry is noticed after this time. */
const REFRESH_EVERY = 100;

const twins = new Set<WeakRef<NativeTwin>>();
let isFollowing = false;

/** Keeps a registry up to date as long as it is in use, and reports what is not reported yet when the process ends. */
function follow(twin: NativeTwin): void {
  if (!isFollowing) {
    isFollowing = true;
    process.once("exit", () => eachTwin((each) => each.flush()));
  }
  if (twins.size === 0) later(refreshAll, REFRESH_EVERY);
  twins.add(new WeakRef(twin));
}

function refreshAll(): void {
  eachTwin((twin) => twin.refresh());
  if (twins.size > 0) later(refreshAll, REFRESH_EVERY);
}

function eachTwin(act: (twin: NativeTwin) => void): void {
  for (const reference of twins) {
    const twin = reference.deref();
    if (twin === undefined) twins.delete(reference);
    else act(twin);
  }
}

/** Made when a registry is first served; then it follows each registration, and looks now and then for what changed without one. */
export class NativeTwin {
  readonly native: NativeRegistry;
  #formats = "";
  readonly #watchers = new Set<TwinWatcher>();

  readonly #entries: Map<string, Entry>;
  #watch: Watch | undefined;
  /** Somebody in JavaScript has a say in every call. */
  #isHeld: boolean;
  /** What the native side was last told to report. */
  #wants = 0;
  #unreported = 0;
  /** Where large results go. */
  readonly #spills: Spills | undefined;

  constructor(
    output: OutputMode,
    entries: Map<string, Entry>,
    watch: Watch | undefined,
    spills: Spills | undefined,
  ) {
    this.#spills = spills;
    this.native = new native.NativeRegistry(runtime, output);
    this.#entries = entries;
    this.#watch = watch;
    this.#isHeld = this.#mustHold();
    this.#tellWants();
    for (const entry of entries.values()) this.set(entry);
    follow(this);
  }

  /** Takes over who watches. */
  watchedBy(watch: Watch | undefined): void {
    this.#watch = watch;
    this.#look();
  }

  #mustHold(): boolean {
    return this.#watch?.needsJavaScript === true;
  }

  #look(): void {
    this.#tellWants();
    const isHeld = this.#mustHold();
    if (isHeld === this.#isHeld) return;
    this.#isHeld = isHeld;
    for (const entry of this.#entries.values()) this.set(entry);
  }

  #tellWants(): void {
    const { wants } = this.#watch ?? NOBODY;
    if (wants === this.#wants) return;
    const twin = new WeakRef(this);
    this.#wants = wants;
    this.native.report(wants, () => {
      const living = twin.deref();
      if (living !== undefined) withoutContext(() => living.#take());
    });
  }

  /** Calls whose reports were dropped, because JavaScript was too busy to take them. */
  get unreported(): number {
    return this.#unreported;
  }

  /** Tells of every call that the native side has done so far. */
  flush(): void {
    while (this.#tell());
  }

  /** Tells of a part at a time: the event loop has other work too. */
  #take(): void {
    if (this.#tell()) onNextTurn(() => this.#take());
  }

  /** Says whether there is more. It does not throw: it is called by the event loop itself. */
  #tell(): boolean {
    const batch = this.native.takeReports();
    if (batch === null) return false;
    try {
      const { dropped, hasMore } = tellReports(batch, this.#watch ?? NOBODY);
      if (dropped > 0) {
        this.#unreported += dropped;
        log.warn(`${dropped} calls were not reported: JavaScript was too busy to take the reports`, {
          dropped,
        });
      }
      return hasMore;
    } catch (error) {
      log.error(`Calls that were done without JavaScript could not be reported: ${messageOf(error)}`);
      return true;
    }
  }

  /** Tells somebody of every change. Returns how to stop that. */
  watch(watcher: TwinWatcher): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** Takes an operation over, as it is now. */
  set(entry: Entry): void {
    // From outside there is no such operation.
    if (entry.isInternal) {
      this.remove(entry.id);
      return;
    }
    const afterwards = Array.from(this.#watchers, (watcher) => watcher(entry.id, entry));
    this.#set(entry);
    for (const callback of afterwards) callback?.();
  }

  #set(entry: Entry): void {
    const { id, spec, handler, own, gate, rules } = entry;
    tellIfOpen(id, handler, rules);
    // First, so that no call slips through.
    this.native.limit(id, gate?.native);
    this.#tellFormats();
    const work = traitsOf(handler).nativeWork;
    const spills = spillsOf(handler, this.#spills);
    // What another library checks is checked in JavaScript.
    if (
      !this.#isHeld &&
      work?.isPossible() &&
      own === undefined &&
      isWellFormed(rules) &&
      !hasCustomAuth(rules)
    ) {
      lookAround();
      const schemas = schemasOf(spec, work);
      if (schemas !== undefined) {
        work.register(this.native, describe(spec, rules, ownMode(spec), spills), schemas, spills);
        return;
      }
    }
    this.native.setHost(describe(spec, FOR_NOBODY, undefined, spills));
  }

  remove(id: string): void {
    this.native.remove(id);
    for (const watcher of this.#watchers) watcher(id, undefined);
  }

  /** Looks for what programs change without a call to this registry: formats, a replaced `fetch`, subscribers to the
   * diagnostics channel and the log level. */
  refresh(): void {
    this.#look();
    lookAround();
    this.#tellFormats();
  }

  /** Formats that users have registered are checked by functions of theirs. */
  #tellFormats(): void {
    const names = registeredFormats();
    const formats = JSON.stringify(names);
    if (formats === this.#formats) return;
    this.#formats = formats;
    this.native.setHostFormats(names);
  }
}

/** Is told of an operation before it can be called from outside; what it returns is called afterwards. Without an entry,
 * it cannot be called any more. */
export type TwinWatcher = (id: string, entry: Entry | undefined) => (() => void) | undefined;

/** JavaScript authorises what it serves. Should anybody ask the native side, nobody may. */
const FOR_NOBODY: EffectiveRules = { requiredScopes: [], customAuth: "JavaScript" };

/** What the native side has to know of a spec. */
function describe(
  spec: OperationSpec,
  accessControl: EffectiveRules,
  output: OutputMode | undefined,
  store: Spills | undefined,
): string {
  const { namespace, name, type, description } = spec;
  const errors = declaredErrors(spec);
  const spills = store !== undefined;
  return JSON.stringify(
    { namespace, name, type, description, accessControl, output, errors, spills },
    wellFormed,
  );
}

/** Rust has no strings with half a surrogate pair. */
function wellFormed(_: string, value: unknown): unknown {
  return typeof value === "string" ? value.replace(/\p{Surrogate}/gu, "\ufffd") : value;
}

/** The schemas; nothing where one cannot be used, which the first call will explain. */
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
