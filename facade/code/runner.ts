// Runs of programs: started, resumed, stored.

import { AsyncResource } from "node:async_hooks";
import type {
  CodeLimits,
  CodeRun,
  CodeRunner,
  CodeRunnerOptions,
  CodeRunOptions,
  CodeStore,
} from "../code-types.js";
import { failed, invalid } from "../errors.js";
import {
  aDuration,
  aFunction,
  anObject,
  anything,
  aSignal,
  aSize,
  aTime,
  checkedOptions,
  type Fields,
  group,
  isFunction,
  isRecord,
  isString,
  must,
} from "../interop/options.js";
import { type TraceContext, tracedWork } from "../interop/trace.js";
import { assertRegistry } from "../registry/assert-registry.js";
import type { OperationRegistry } from "../registry/registry.js";
import { SearchedRegistry } from "../tools/catalogue.js";
import { type ProgramRequest, runFor } from "../tools/program-run.js";
import type { AccessControl } from "../types.js";
import { type Authority, offeredTo } from "./calls.js";
import { amaroPath, type LoadedEngine, loadEngine, Threads } from "./engine.js";
import { runnerOperations } from "./operations.js";
import type { ToWorker } from "./protocol.js";
import { Run, type RunSettings, type StoredRun } from "./run.js";
import { checkId, folderStore, memoryStore, noSuchRun, opened, sealed } from "./store.js";

const MIB = 1024 * 1024;

const DEFAULTS: Required<CodeLimits> = {
  memory: 64 * MIB,
  cpu: 5_000,
  time: 300_000,
  calls: 100,
  concurrency: 10,
  output: MIB / 4,
  logs: MIB / 16,
  source: MIB / 4,
};

const aMemory = must(
  `a whole number from ${2 * MIB} to ${1024 * MIB}`,
  (value) => Number.isSafeInteger(value) && Number(value) >= 2 * MIB && Number(value) <= 1024 * MIB,
);
const aStore = must(
  '"memory", { dir }, or an object with get, put and delete',
  (value) =>
    value === "memory" ||
    (isRecord(value) && (isString(value.dir) || [value.get, value.put, value.delete].every(isFunction))),
);
const FIELDS: Fields<CodeRunnerOptions> = {
  limits: group<CodeLimits>({
    memory: aMemory,
    cpu: aDuration,
    time: aDuration,
    calls: aSize,
    concurrency: aSize,
    output: aSize,
    logs: aSize,
    source: aSize,
  }),
  store: aStore,
  engine: must("the bytes of quickjs.wasm", (value) => value instanceof Uint8Array),
};
const RUN: Fields<CodeRunOptions> = {
  identity: anObject,
  input: anything,
  signal: aSignal,
  deadline: aTime,
  onLog: aFunction,
  onCall: aFunction,
  approve: aFunction,
};
type ResumeOptions = Parameters<CodeRunner["resume"]>[1];
const RESUME: Fields<NonNullable<ResumeOptions>> = {
  signal: aSignal,
  onLog: aFunction,
  onCall: aFunction,
  approve: aFunction,
};

/**
 * Makes a runner of programs that call the operations of a registry, in a sandbox. Needs the package `quickjs-wasi`.
 *
 * @example
 * ```ts
 * const runner = createCodeRunner(registry);
 * const { status, data } = await runner.run("return await demo.greet({ name: input.name })", { identity, input: { name: "Ada" } });
 * await runner.close();
 * ```
 */
export function createCodeRunner(registry: OperationRegistry, given: CodeRunnerOptions = {}): CodeRunner {
  assertRegistry(registry, "createCodeRunner");
  const options = checkedOptions<CodeRunnerOptions>(given, FIELDS, { prefix: "createCodeRunner: " });
  const limits = { ...DEFAULTS };
  for (const [name, value] of Object.entries(options.limits ?? {})) {
    if (value !== undefined) limits[name as keyof CodeLimits] = value as number;
  }
  return new Runner(registry, limits, storeOf(options.store), options.engine);
}

function storeOf(given: CodeRunnerOptions["store"] = "memory"): CodeStore {
  if (given === "memory") return memoryStore();
  return "dir" in given ? folderStore(given.dir) : given;
}

/** How a run comes in. */
type Entrance = Pick<Authority, "identity" | "isOffered"> &
  Pick<RunSettings, "id" | "until"> & {
    readonly trace?: TraceContext | undefined;
  };

class Runner implements CodeRunner {
  readonly #registry: OperationRegistry;
  readonly #limits: Required<CodeLimits>;
  readonly #store: CodeStore;
  readonly #engineBytes: Uint8Array | undefined;
  readonly #searched: SearchedRegistry;
  #engine: Promise<LoadedEngine & { threads: Threads }> | undefined;
  readonly #running = new Map<string, Run>();
  /** Runs that this process resumes. */
  readonly #locked = new Set<string>();
  #isClosed = false;

  constructor(
    registry: OperationRegistry,
    limits: Required<CodeLimits>,
    store: CodeStore,
    engine: Uint8Array | undefined,
  ) {
    this.#registry = registry;
    this.#limits = limits;
    this.#store = store;
    this.#engineBytes = engine;
    this.#searched = new SearchedRegistry(registry);
  }

  async run(source: string, given: CodeRunOptions = {}): Promise<CodeRun> {
    const options = checkedOptions<CodeRunOptions>(given, RUN, { prefix: "run: " });
    return this.#start(source, options, { identity: options.identity, isOffered: () => true });
  }

  async resume(id: string, given: ResumeOptions = {}): Promise<CodeRun> {
    return this.#resume(
      id,
      checkedOptions<NonNullable<ResumeOptions>>(given, RESUME, { prefix: "resume: " }),
    );
  }

  /** For a caller from outside: what it resumes must be its own, and goes on with what the caller may do now. The deadline of a call
   * is for its answer, and not for a run that outlives it. */
  async [runFor](request: ProgramRequest): Promise<CodeRun> {
    const { registry, id, code, input, context, isOffered, onLog, onCall } = request;
    if (registry !== this.#registry) throw invalid("The code runner is one of another registry");
    const { identity, signal, approve, deadline: until, trace } = context;
    const options: CodeRunOptions = {
      ...(signal !== undefined && { signal }),
      ...(approve !== undefined && { approve: approve as CodeRunOptions["approve"] & {} }),
      ...(input !== undefined && { input }),
      ...(onLog !== undefined && { onLog }),
      ...(onCall !== undefined && { onCall }),
    };
    const entrance = { identity, isOffered, until, trace, id };
    if (code !== undefined) return this.#start(code, options, entrance);
    return this.#resume(id, options, entrance);
  }

  async #start(source: string, options: CodeRunOptions, entrance: Entrance): Promise<CodeRun> {
    if (typeof source !== "string") throw invalid("run: the program must be a string");
    const input = inputText(options.input);
    const authority = this.#authority(entrance);
    const offered = offeredTo(authority).map(({ id, spec, isSubscription }) => ({
      id,
      namespace: spec.namespace,
      name: spec.name,
      isStream: isSubscription,
      description: String(spec.description ?? "").slice(0, 200),
    }));
    const limits = this.#limits;
    const isTooLong = Buffer.byteLength(source) > limits.source;
    const message: ToWorker = { t: "start", source, input, offered, limits, amaro: amaroPath() };
    const settings = { ...entrance, authority, limits, options, deadline: options.deadline };
    return this.#perform(isTooLong ? undefined : message, settings, entrance.trace);
  }

  #authority({ identity, isOffered }: Entrance): Authority {
    return { registry: this.#registry, searched: this.#searched, identity, isOffered };
  }

  async #resume(id: string, options: CodeRunOptions, caller?: Entrance): Promise<CodeRun> {
    checkId(id);
    if (this.#running.has(id) || this.#locked.has(id)) throw isRunning(id);
    this.#locked.add(id);
    try {
      const unlock = await this.#lock(id);
      try {
        return await this.#continue(id, options, caller);
      } finally {
        await unlock();
      }
    } finally {
      this.#locked.delete(id);
    }
  }

  async #lock(id: string): Promise<() => Promise<void>> {
    if (this.#store.lock === undefined) return async () => {};
    const unlock = await this.#store.lock(id);
    if (unlock === undefined) throw isRunning(id);
    return unlock;
  }

  async #continue(id: string, options: CodeRunOptions, caller: Entrance | undefined): Promise<CodeRun> {
    const text = await this.#store.get(id);
    if (typeof text !== "string") throw noSuchRun(id);
    const stored = opened<StoredRun>(id, text, (await this.#loaded()).hash);
    const { machine, limits = this.#limits, deadline, run, logBytes = 0, pending = [] } = stored;
    // Nothing tells a run of others from one that does not exist.
    if (caller !== undefined && caller.identity?.id !== stored.identity?.id) throw noSuchRun(id);
    if (machine === undefined) return run;
    const entrance = caller ?? { identity: stored.identity, isOffered: () => true };
    const authority = this.#authority(entrance);
    const message: ToWorker = {
      t: "restore",
      machine: { bytes: Uint8Array.from(Buffer.from(machine.bytes, "base64")), token: machine.token },
      names: offeredTo(authority).map((entry) => entry.id),
      limits,
      used: { cpu: run.usage.cpu, logs: logBytes, calls: run.usage.calls },
      pending: pending.map(({ n }) => n),
    };
    return this.#perform(
      message,
      { ...entrance, authority, limits, options, deadline },
      entrance.trace,
      stored,
    );
  }

  operations({ accessControl = { requiredScopes: [] } }: { accessControl?: AccessControl } = {}) {
    return runnerOperations(this, this.#registry, this.#searched, accessControl);
  }

  async forget(id: string): Promise<void> {
    checkId(id);
    if (this.#running.has(id) || this.#locked.has(id)) throw isRunning(id);
    const unlock = await this.#lock(id);
    await this.#store.delete(id).finally(unlock);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const ends = Array.from(this.#running.values(), (run) => {
      run.leave();
      return run.ended;
    });
    await Promise.all(ends);
    await (await this.#engine?.catch(() => undefined))?.threads.close();
  }

  #loaded(): Promise<LoadedEngine & { threads: Threads }> {
    if (this.#isClosed) throw failed("The code runner is closed", { reason: "closed" });
    this.#engine ??= loadEngine(this.#engineBytes).then((engine) => ({
      ...engine,
      threads: new Threads(engine.wasm),
    }));
    // What is not installed now may be later.
    this.#engine.catch(() => {
      this.#engine = undefined;
    });
    return this.#engine;
  }

  /** Runs a machine to its end or its wait; without a message, the program is too long for one. */
  async #perform(
    message: ToWorker | undefined,
    settings: RunSettings,
    trace: TraceContext | undefined,
    from?: StoredRun,
  ): Promise<CodeRun> {
    const { threads, hash } = await this.#loaded();
    return tracedWork("run program", trace, async (note) => {
      const thread = threads.take();
      const put = async (record: Omit<StoredRun, "engine">) =>
        this.#store.put(record.run.id, sealed({ engine: hash, ...record }));
      const run = new Run(settings, thread, put, from);
      this.#running.set(run.id, run);
      let isOverrun = false;
      thread.take(
        {
          // What the thread sends belongs to this run, and not to the one that it was made for.
          onMessage: AsyncResource.bind((answer) => run.onMessage(answer)),
          onLost: (error) => run.onLost(error),
        },
        settings.limits.cpu,
        () => {
          isOverrun = true;
          run.limit("cpu");
        },
      );
      if (message === undefined) run.limit("source");
      else thread.send(message);
      const result = await run.ended;
      this.#running.delete(run.id);
      await threads.release(thread, isOverrun);
      // Who resumes a run that has ended gets its result.
      if (run.isDurable && result.status !== "waiting") {
        await put({ run: result, identity: settings.authority.identity });
      }
      const { id, status, usage, error } = result;
      note({ id, status, calls: usage.calls, code: error?.code, message: error?.message });
      return result;
    });
  }
}

function inputText(input: unknown): string | undefined {
  try {
    return JSON.stringify(input);
  } catch (error) {
    throw invalid(`run: input cannot be written as JSON: ${String(error)}`);
  }
}

const isRunning = (id: string) =>
  failed(`Run ${id} is being continued already, here or by another host`, { reason: "locked" });
