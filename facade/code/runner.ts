// Runs of programs: started, resumed, stored.

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
import { assertRegistry } from "../registry/assert-registry.js";
import type { OperationRegistry } from "../registry/registry.js";
import { SearchedRegistry, type SeenBy } from "../tools/catalogue.js";
import { type ProgramRequest, runFor } from "../tools/code-operations.js";
import type { Identity } from "../types.js";
import { amaroPath, type LoadedEngine, loadEngine, Threads } from "./engine.js";
import type { ToWorker } from "./protocol.js";
import { offeredTo, Run, type StoredRun } from "./run.js";
import { folderStore, memoryStore, noSuchRun, opened, sealed } from "./store.js";
import type {
  CodeLimits,
  CodeRun,
  CodeRunner,
  CodeRunnerOptions,
  CodeRunOptions,
  CodeStore,
} from "./types.js";

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

/** Who resumes a run from outside. */
interface Caller {
  readonly identity: Identity | undefined;
  readonly isOffered: SeenBy;
}

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

  run(source: string, given: CodeRunOptions = {}): Promise<CodeRun> {
    return this.#start(source, given, () => true);
  }

  /** For a caller from outside: what it resumes must be its own, and goes on with what the caller may do now. */
  async [runFor](request: ProgramRequest): Promise<object> {
    const { registry, code, resume, input, context, isOffered } = request;
    if (registry !== this.#registry) throw invalid("The code runner is one of another registry");
    const { identity, signal, approve, deadline } = context;
    const options: CodeRunOptions = {
      ...(signal !== undefined && { signal }),
      ...(approve !== undefined && { approve: approve as CodeRunOptions["approve"] & {} }),
    };
    const { id, status, data, error, logs, approvals } =
      resume === undefined
        ? await this.#start(
            code as string,
            {
              ...options,
              ...(identity && { identity }),
              ...(input !== undefined && { input }),
              ...(deadline !== undefined && { deadline }),
            },
            isOffered,
          )
        : await this.#resume(resume, options, { identity, isOffered });
    return {
      ...{ id, status },
      ...(data !== undefined && { data }),
      ...(error !== undefined && { error }),
      ...(logs.length > 0 && { logs: logs.map(({ level, text }) => `${level}: ${text}`) }),
      ...(approvals !== undefined && { approvals }),
    };
  }

  async #start(source: string, given: CodeRunOptions, isOffered: SeenBy): Promise<CodeRun> {
    if (typeof source !== "string") throw invalid("run: the program must be a string");
    const options = checkedOptions<CodeRunOptions>(given, RUN, { prefix: "run: " });
    const { identity } = options;
    const input = inputText(options.input);
    const entries = offeredTo({ registry: this.#registry, identity, isOffered });
    const offered = entries.map(({ id, spec, isSubscription }) => ({
      id,
      namespace: spec.namespace,
      name: spec.name,
      isStream: isSubscription,
      description: String(spec.description ?? "").slice(0, 200),
    }));
    const isTooLong = Buffer.byteLength(source) > this.#limits.source;
    const message: ToWorker = {
      t: "start",
      source: isTooLong ? "" : source,
      input,
      offered,
      limits: this.#limits,
      amaro: amaroPath(),
    };
    return this.#perform(
      message,
      { options, limits: this.#limits, identity, isOffered, deadline: options.deadline },
      undefined,
      isTooLong,
    );
  }

  async resume(id: string, given: ResumeOptions = {}): Promise<CodeRun> {
    if (typeof id !== "string") throw invalid("resume: the id must be a string");
    const options = checkedOptions<NonNullable<ResumeOptions>>(given, RESUME, { prefix: "resume: " });
    return this.#resume(id, options);
  }

  async #resume(id: string, options: CodeRunOptions, caller?: Caller): Promise<CodeRun> {
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

  async #continue(id: string, options: CodeRunOptions, caller: Caller | undefined): Promise<CodeRun> {
    const text = await this.#store.get(id);
    if (text === undefined) throw noSuchRun(id);
    const stored = opened<StoredRun>(id, text, (await this.#loaded()).hash);
    const { machine, limits = this.#limits, deadline, run, logBytes = 0 } = stored;
    // Nothing tells a run of others from one that does not exist.
    if (caller !== undefined && caller.identity?.id !== stored.identity?.id) throw noSuchRun(id);
    const { identity, isOffered } = caller ?? { identity: stored.identity, isOffered: () => true };
    if (machine === undefined) return run;
    const bytes = Uint8Array.from(Buffer.from(machine.bytes, "base64"));
    const names = offeredTo({ registry: this.#registry, identity, isOffered }).map((entry) => entry.id);
    const used = { cpu: run.usage.cpu, logs: logBytes };
    const message: ToWorker = { t: "restore", machine: { bytes, token: machine.token }, names, limits, used };
    return this.#perform(message, { options, limits, identity, isOffered, deadline }, stored, false);
  }

  async forget(id: string): Promise<void> {
    if (this.#running.has(id) || this.#locked.has(id)) throw isRunning(id);
    const unlock = await this.#lock(id);
    await this.#store.delete(id);
    await unlock();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const ends = Array.from(this.#running.values(), (run) => {
      run.abort();
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

  async #perform(
    message: ToWorker,
    about: Pick<
      ConstructorParameters<typeof Run>[0],
      "options" | "limits" | "identity" | "isOffered" | "deadline"
    >,
    from: StoredRun | undefined,
    isTooLong: boolean,
  ): Promise<CodeRun> {
    const { threads, hash } = await this.#loaded();
    const thread = threads.take();
    thread.reset();
    const store = async (record: Omit<StoredRun, "engine">) =>
      this.#store.put(record.run.id, sealed({ engine: hash, ...record }));
    const run = new Run(
      { ...about, registry: this.#registry, searched: this.#searched, thread, store },
      from,
    );
    this.#running.set(run.id, run);
    let isOverrun = false;
    const onOverrun = () => {
      isOverrun = true;
      run.limit("cpu");
    };
    thread.take(
      { onMessage: (answer) => run.onMessage(answer), onLost: (error) => run.onLost(error) },
      about.limits.cpu,
      onOverrun,
    );
    if (isTooLong) run.limit("source");
    else thread.send(message);
    const result = await run.ended;
    this.#running.delete(run.id);
    await release(threads, thread, isOverrun);
    // Whoever resumes a run that has ended gets its result.
    if (run.isDurable && result.status !== "waiting") {
      await store({ run: result, identity: about.identity });
    }
    return result;
  }
}

/** How long a machine may take to be taken apart; it may be in the middle of a computation. */
const END_MS = 50;

/** Gives a thread back once its machine is gone, or ends it. */
async function release(
  threads: Threads,
  thread: ReturnType<Threads["take"]>,
  isOverrun: boolean,
): Promise<void> {
  if (thread.isGone) return;
  if (isOverrun) return thread.end();
  const isFree = await new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => resolve(false), END_MS);
    const answer = (value: boolean) => {
      clearTimeout(timer);
      resolve(value);
    };
    thread.take(
      { onMessage: ({ t }) => t === "ended" && answer(true), onLost: () => answer(false) },
      Number.POSITIVE_INFINITY,
      () => {},
    );
    thread.send({ t: "end" });
  });
  if (isFree) threads.giveBack(thread);
  else await thread.end();
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
