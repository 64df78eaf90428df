// One run: the host's side of a machine. Every request of the program is answered exactly once, by `#settle`. From the first wait on, the
// machine is stored with all that it waits for before a call starts, so that a host that dies has left nothing to guess.

import type { CodeApproval, CodeLimits, CodeLog, CodeRun, CodeRunOptions } from "../code-types.js";
import { InfrastructureErrorCode } from "../errors.js";
import { newId } from "../interop/host.js";
import { nearestName } from "../interop/nearest-name.js";
import { logFailure } from "../registry/failure-log.js";
import type { Identity } from "../types.js";
import {
  type Answer,
  type Authority,
  offeredTo,
  ProgramCalls,
  quietly,
  type ShownError,
  STREAM_ENDED,
} from "./calls.js";
import type { Thread } from "./engine.js";
import type { FromWorker, StoredMachine } from "./protocol.js";

/** The longest time a timer of Node's can have. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** By how many milliseconds two timers for one time differ at most. */
const TIMERS_APART = 5;

/** A request of the program that has no answer yet. */
interface Pending {
  readonly n: number;
  readonly type: "call" | "next" | "search" | "describe";
  readonly json: string;
  state: "queued" | "running" | "waiting" | "done";
  approval?: CodeApproval;
  /** Its answer, which the machine has not got yet. */
  line?: string;
}

/** A run in a store. */
export interface StoredRun {
  readonly engine: string;
  readonly run: CodeRun;
  readonly identity?: Identity | undefined;
  readonly limits?: Required<CodeLimits>;
  readonly deadline?: number | undefined;
  readonly logBytes?: number;
  readonly machine?: { readonly token: number; readonly bytes: string };
  readonly pending?: readonly Pending[];
}

/** What is the same however a run begins. */
export interface RunSettings {
  readonly authority: Authority;
  readonly limits: Required<CodeLimits>;
  /** When the run must end. It is stored with it. */
  readonly deadline: number | undefined;
  /** When it must be answered, this time. */
  readonly until?: number | undefined;
  readonly id?: string | undefined;
  readonly options: CodeRunOptions;
}

export class Run {
  readonly #settings: RunSettings;
  readonly #thread: Thread;
  readonly #put: (record: Omit<StoredRun, "engine">) => Promise<void>;
  readonly #run: CodeRun;
  readonly #calls: ProgramCalls;
  readonly #pending = new Map<number, Pending>();
  readonly #abort = new AbortController();
  readonly #began = Date.now();
  readonly #timeBefore: number;
  readonly #deadline: number;
  readonly #onTime: () => void;
  readonly #timer: NodeJS.Timeout;
  #restored: readonly Pending[];
  #logBytes: number;
  /** How many messages the machine has not finished with. */
  #busy = 1;
  /** Whether something of this run is in the store. */
  isDurable: boolean;
  #isStoring = false;
  #isOver = false;
  #stored: ((machine: StoredMachine) => void) | undefined;
  #end!: (run: CodeRun) => void;
  readonly ended = new Promise<CodeRun>((resolve) => {
    this.#end = resolve;
  });

  /** `put` stores what is needed to continue. */
  constructor(
    settings: RunSettings,
    thread: Thread,
    put: (record: Omit<StoredRun, "engine">) => Promise<void>,
    from?: StoredRun,
  ) {
    this.#settings = settings;
    this.#thread = thread;
    this.#put = put;
    const usage = { cpu: 0, time: 0, calls: 0 };
    this.#run = from?.run ?? { id: settings.id ?? newId(), status: "failed", logs: [], calls: [], usage };
    delete this.#run.approvals;
    this.isDurable = from !== undefined;
    this.#restored = from?.pending ?? [];
    this.#logBytes = from?.logBytes ?? 0;
    this.#timeBefore = this.#run.usage.time;
    const { limits, options, authority } = settings;
    const { signal } = options;
    const ends = this.#began + limits.time - this.#timeBefore;
    const deadline = Math.min(settings.deadline ?? ends, settings.until ?? ends, ends);
    this.#calls = new ProgramCalls(
      authority,
      { ...options, id: this.id, deadline, signal: this.#abort.signal, most: limits.memory / 2 },
      this.#run.calls,
    );
    this.#deadline = deadline;
    this.#onTime = () => {
      if (deadline === ends) return this.limit("time");
      this.#fail(InfrastructureErrorCode.TIMEOUT, "The deadline of the run has passed", { deadline });
    };
    this.#timer = setTimeout(this.#onTime, Math.min(Math.max(0, deadline - this.#began), LONGEST_TIMER));
    const onAbort = () => this.abort();
    signal?.addEventListener("abort", onAbort, { once: true });
    void this.ended.then(() => signal?.removeEventListener("abort", onAbort));
    if (signal?.aborted) onAbort();
  }

  get id(): string {
    return this.#run.id;
  }

  abort() {
    this.#fail(InfrastructureErrorCode.ABORTED, "The run was aborted");
  }

  /** Ends it here. What is in the store of it can be resumed. */
  leave() {
    this.isDurable = false;
    this.#fail(InfrastructureErrorCode.ABORTED, "The code runner was closed", { reason: "closed" });
  }

  limit(limit: keyof CodeLimits) {
    const most = this.#settings.limits[limit];
    const unit = UNITS[limit];
    this.#fail("LIMIT_EXCEEDED", `The run was ended: its limit ${limit} is ${most}${unit}`, { limit, most });
  }

  onLost(error: Error | undefined) {
    // A thread that ends by itself has no memory left.
    if (error !== undefined && /memory/i.test(error.message)) this.limit("memory");
    else this.#fail(InfrastructureErrorCode.EXECUTION_ERROR, "The thread of the run ended unexpectedly");
  }

  /** Nothing that a program sends makes the host fail. */
  onMessage(message: FromWorker) {
    if (this.#isOver) return;
    try {
      if (message.t === "idle") {
        this.#busy -= 1;
        this.#proceed();
      } else if (message.t === "stored") this.#stored?.(message.machine);
      else if (message.t === "limit") this.limit(message.limit);
      else if (message.t === "syntax") this.#fail("SYNTAX_ERROR", message.message);
      else if (message.t === "request") this.#onRequest(message);
      else if (message.t === "broken") {
        // What is stored of it may be continued with more memory, or elsewhere.
        this.isDurable = false;
        this.#fail(InfrastructureErrorCode.EXECUTION_ERROR, `The machine failed: ${message.message}`);
      }
    } catch (error) {
      logFailure("code", { operationId: "run", requestId: this.id }, error);
      this.#fail("PROGRAM_ERROR", "The program sent something that cannot be read");
    }
  }

  #onRequest({ type, n, json }: Extract<FromWorker, { t: "request" }>) {
    const { usage } = this.#run;
    switch (type) {
      case "log":
        return this.#log(json);
      case "completed":
        return this.#finish({ status: "completed", ...(json !== "" && { data: JSON.parse(json) }) });
      case "failed":
        // Its calls have the same deadline, and may notice first.
        if (Date.now() >= this.#deadline - TIMERS_APART) return this.#onTime();
        return this.#failed(JSON.parse(json) as Partial<Record<string, unknown>>);
      case "open":
        usage.calls += 1;
        return this.#calls.open(n, json);
      case "return":
        return this.#calls.close(n);
      case "next":
      case "call":
      case "search":
      case "describe": {
        if (type !== "next") usage.calls += 1;
        this.#pending.set(n, { n, type, json, state: "queued" });
        if (type === "search" || type === "describe") this.#settle(n, this.#calls.lookUp(type, json));
      }
    }
  }

  #log(json: string) {
    const { level, text } = JSON.parse(json) as CodeLog;
    const log = { level: LEVELS.includes(level) ? level : "info", text: String(text) };
    this.#logBytes += Buffer.byteLength(json);
    this.#run.logs.push(log);
    quietly(() => this.#settings.options.onLog?.(log));
  }

  /** Takes the next step, when the machine waits. */
  #proceed() {
    if (this.#busy > 0 || this.#isStoring || this.#isOver) return;
    const restored = this.#restored;
    this.#restored = [];
    for (const pending of restored) this.#takeUp(pending);
    if (this.#busy > 0) return;
    const all = Array.from(this.#pending.values());
    const queued = all.filter(({ state }) => state === "queued");
    const running = all.filter(({ state }) => state === "running");
    const calls = running.filter(({ type }) => type === "call");
    if (queued.length > 0) {
      const room = Math.max(0, this.#settings.limits.concurrency - calls.length);
      const starting = [
        ...queued.filter(({ type }) => type === "next"),
        ...queued.filter(({ type }) => type === "call").slice(0, room),
      ];
      if (starting.length > 0) void this.#startAll(starting);
      return;
    }
    if (calls.length > 0) return;
    const waiting = all.filter(({ state }) => state === "waiting");
    if (waiting.length === 0) {
      if (running.length > 0) return;
      const message =
        "The program waits for something that never happens: it has no call left that could end";
      return this.#fail("PROGRAM_ERROR", message);
    }
    // Streams cannot wait as long as people can.
    this.#calls.close();
    for (const { n } of running) this.#settle(n, { error: STREAM_ENDED });
    if (running.length === 0) void this.#wait(waiting);
  }

  /** Takes up a request of a machine that was restored. */
  #takeUp(pending: Pending) {
    const { n, type, state, line, json } = pending;
    this.#pending.set(n, pending);
    if (state === "done" && line !== undefined) return this.#deliver(n, line);
    if (type === "search" || type === "describe") return this.#settle(n, this.#calls.lookUp(type, json));
    if (type === "next") return this.#settle(n, { error: STREAM_ENDED });
    if (state !== "running") {
      pending.state = "queued";
      return;
    }
    const { id } = JSON.parse(json) as { id: string };
    const message = `The host ended while the call of ${id} was under way: it may have been carried out`;
    const details = { operationId: id, reason: "host-died", delivery: "unknown" };
    this.#settle(n, { error: { code: InfrastructureErrorCode.EXECUTION_ERROR, message, details } });
  }

  async #startAll(starting: readonly Pending[]): Promise<void> {
    for (const pending of starting) pending.state = "running";
    if (this.isDurable && !(await this.#store())) return;
    for (const pending of starting) void this.#start(pending);
    // Answers that came while the machine was being stored.
    for (const { n, state, line } of [...this.#pending.values()]) {
      if (state === "done" && line !== undefined) this.#deliver(n, line);
    }
    this.#proceed();
  }

  async #start(pending: Pending): Promise<void> {
    const { n, type, json } = pending;
    const outcome = await (type === "call"
      ? this.#calls.call(json, pending.approval?.id)
      : this.#calls.next(json));
    if (!("approval" in outcome)) return this.#settle(n, outcome);
    Object.assign(pending, { state: "waiting", approval: outcome.approval });
    this.#proceed();
  }

  async #wait(waiting: readonly Pending[]): Promise<void> {
    this.isDurable = true;
    this.#run.approvals = waiting.map(({ approval }) => approval as CodeApproval);
    if (await this.#store()) this.#finish({ status: "waiting" });
  }

  /** Stores the machine and what it waits for. Whether the run goes on. */
  async #store(): Promise<boolean> {
    this.#isStoring = true;
    try {
      const machine = await new Promise<StoredMachine | undefined>((resolve) => {
        this.#stored = resolve;
        this.#thread.send({ t: "store" });
        void this.ended.then(() => resolve(undefined));
      });
      if (machine === undefined) return false;
      const { authority, limits, deadline } = this.#settings;
      await this.#put({
        run: { ...this.#run, status: "waiting", usage: this.#usage() },
        identity: authority.identity,
        limits,
        deadline,
        logBytes: this.#logBytes,
        machine: { token: machine.token, bytes: Buffer.from(machine.bytes).toString("base64") },
        pending: Array.from(this.#pending.values()),
      });
    } catch (error) {
      logFailure("code", { operationId: "store", requestId: this.id }, error);
      this.#fail(InfrastructureErrorCode.EXECUTION_ERROR, "The run could not be stored");
    } finally {
      this.#isStoring = false;
    }
    return !this.#isOver;
  }

  #settle(n: number, answer: Answer) {
    const pending = this.#pending.get(n);
    if (this.#isOver || pending === undefined) return;
    const text = "json" in answer ? `"value":${answer.json}` : `"error":${JSON.stringify(answer.error)}`;
    const line = `{"n":${n},${text}}`;
    // What a machine gets while it is being stored would be lost.
    if (this.#isStoring) Object.assign(pending, { state: "done", line });
    else this.#deliver(n, line);
  }

  #deliver(n: number, line: string) {
    this.#pending.delete(n);
    this.#busy += 1;
    this.#thread.send({ t: "settle", n, line });
  }

  #failed({ code, name, message, stack, details }: Partial<Record<string, unknown>>) {
    if (typeof code === "string") return this.#fail(code, String(message), details);
    const text = String(message);
    const unknown = /^'?([\w$]+)'? is not defined$/.exec(text)?.[1];
    const namespaces = new Set(offeredTo(this.#settings.authority).map(({ spec }) => spec.namespace));
    const nearest = unknown === undefined ? undefined : nearestName(unknown, [...namespaces]);
    const hint = nearest === undefined ? "" : `. Did you mean ${nearest}?`;
    this.#fail("PROGRAM_ERROR", `${name ?? "Error"}: ${text}${hint}`, stack ? { stack } : undefined);
  }

  #fail(code: string, message: string, details?: unknown) {
    const error: ShownError = { code, message, ...(details !== undefined && { details }) };
    this.#finish({ status: "failed", error });
  }

  #usage(): CodeRun["usage"] {
    const time = this.#timeBefore + Date.now() - this.#began;
    return { ...this.#run.usage, cpu: Math.round(this.#thread.cpu), time };
  }

  /** Ends the run here: calls and streams that are open are aborted. */
  #finish(outcome: Pick<CodeRun, "status" | "data" | "error">) {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#calls.close();
    this.#abort.abort();
    const run: CodeRun = { ...this.#run, ...outcome, usage: this.#usage() };
    if (outcome.status !== "waiting") delete run.approvals;
    this.#end(run);
  }
}

const LEVELS: readonly CodeLog["level"][] = ["debug", "info", "warn", "error"];

const UNITS: Readonly<Record<keyof CodeLimits, string>> = {
  memory: " bytes",
  cpu: " ms",
  time: " ms",
  calls: "",
  concurrency: "",
  output: " bytes",
  logs: " bytes",
  source: " bytes",
};
