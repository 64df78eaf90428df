// One run: the host's side of a machine. Every request of the program is answered exactly once, by `#settle`. From the first wait on, the
// machine is stored with all that it waits for before a call starts, so that a host that dies has left nothing to guess.

import { maskedDetails, withoutStderr } from "../call/masked-details.js";
import type { ResponseEnvelope } from "../envelope.js";
import { CallError, InfrastructureErrorCode, isInternal, mapError } from "../errors.js";
import { newId } from "../interop/host.js";
import { nearestName } from "../interop/nearest-name.js";
import { isRecord } from "../interop/options.js";
import { type CallOrigin, TOOL } from "../registry/call.js";
import type { Entry } from "../registry/entry.js";
import { logFailure } from "../registry/failure-log.js";
import { operationNotFound } from "../registry/nearest.js";
import { offerEnv } from "../registry/offered-env.js";
import { copyForOutside } from "../registry/origin.js";
import type { OperationRegistry } from "../registry/registry.js";
import type { SearchedRegistry, SeenBy } from "../tools/catalogue.js";
import { mayCall } from "../tools/selection.js";
import { isShown } from "../tools/shown.js";
import type { Identity } from "../types.js";
import type { Thread } from "./engine.js";
import type { FromWorker, StoredMachine } from "./protocol.js";
import type {
  ApprovableContext,
  CodeApproval,
  CodeCall,
  CodeLimits,
  CodeLog,
  CodeRun,
  CodeRunOptions,
} from "./types.js";

/** A program has no use for the files of large results. */
const PROGRAM: CallOrigin = { ...TOOL, acceptsFiles: false };
/** The largest input of one call: it is read on the host's event loop. */
const MAX_INPUT_BYTES = 4 * 1024 * 1024;
/** The longest time a timer of Node's can have. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** A request of the program that has no answer yet. */
interface Pending {
  readonly n: number;
  readonly t: "call" | "next" | "search" | "describe";
  readonly id?: string;
  readonly input?: unknown;
  readonly stream?: string;
  readonly query?: string;
  readonly options?: object;
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

export interface RunSettings {
  readonly registry: OperationRegistry;
  readonly searched: SearchedRegistry;
  readonly thread: Thread;
  readonly limits: Required<CodeLimits>;
  readonly identity: Identity | undefined;
  /** Whether the way in offers an operation at all. */
  readonly isOffered: SeenBy;
  readonly deadline: number | undefined;
  readonly options: CodeRunOptions;
  /** Stores what is needed to continue. */
  store(record: Omit<StoredRun, "engine">): Promise<void>;
}

interface OpenStream {
  readonly id: string;
  readonly input: unknown;
  iterator?: AsyncGenerator<ResponseEnvelope>;
}

/** The operations that a program may call: what the identity may, and nothing internal. */
export function offeredTo({
  registry,
  identity,
  isOffered,
}: Pick<RunSettings, "registry" | "identity" | "isOffered">): Entry[] {
  return Array.from(registry.entries()).filter(
    (entry) => isShown(entry) && isOffered(entry) && mayCall(entry, identity),
  );
}

export class Run {
  readonly #settings: RunSettings;
  readonly #run: CodeRun;
  readonly #pending = new Map<number, Pending>();
  readonly #streams = new Map<string, OpenStream>();
  readonly #abort = new AbortController();
  readonly #began = Date.now();
  readonly #timeBefore: number;
  #timer: NodeJS.Timeout | undefined;
  #logBytes: number;
  /** How many messages the machine has not finished with. */
  #busy = 1;
  #isDurable: boolean;
  #isStoring = false;
  #isOver = false;
  #stored: ((machine: StoredMachine) => void) | undefined;
  readonly #restored: readonly Pending[];
  #end!: (run: CodeRun) => void;
  readonly ended = new Promise<CodeRun>((resolve) => {
    this.#end = resolve;
  });

  constructor(settings: RunSettings, from?: StoredRun) {
    this.#settings = settings;
    this.#run = from?.run ?? {
      id: newId(),
      status: "failed",
      logs: [],
      calls: [],
      usage: { cpu: 0, time: 0, calls: 0 },
    };
    delete this.#run.approvals;
    this.#isDurable = from !== undefined;
    this.#restored = from?.pending ?? [];
    this.#logBytes = from?.logBytes ?? 0;
    this.#timeBefore = this.#run.usage.time;
    const { limits, deadline, options } = settings;
    const ends = this.#began + limits.time - this.#timeBefore;
    const isDeadline = deadline !== undefined && deadline <= ends;
    const left = Math.max(
      0,
      Math.min(isDeadline ? deadline : ends, this.#began + LONGEST_TIMER) - this.#began,
    );
    this.#timer = setTimeout(() => {
      if (isDeadline)
        this.#fail(InfrastructureErrorCode.TIMEOUT, "The deadline of the run has passed", { deadline });
      else this.limit("time");
    }, left);
    const onAbort = () => this.abort();
    options.signal?.addEventListener("abort", onAbort, { once: true });
    void this.ended.then(() => options.signal?.removeEventListener("abort", onAbort));
    if (options.signal?.aborted) onAbort();
  }

  get id(): string {
    return this.#run.id;
  }

  abort() {
    this.#fail(InfrastructureErrorCode.ABORTED, "The run was aborted");
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

  onMessage(message: FromWorker) {
    if (this.#isOver) return;
    if (message.t === "idle") {
      this.#busy -= 1;
      this.#proceed();
    } else if (message.t === "stored") this.#stored?.(message.machine);
    else if (message.t === "limit") this.limit(message.limit);
    else if (message.t === "syntax") this.#fail("SYNTAX_ERROR", message.message);
    else if (message.t === "request") this.#onRequest(message.line);
  }

  #onRequest(line: string) {
    if (line.length > MAX_INPUT_BYTES) return this.#onLongRequest(line);
    const request = JSON.parse(line) as Pending & Record<string, unknown>;
    switch (request.t as string) {
      case "log":
        return this.#log(request as unknown as CodeLog, line.length);
      case "completed":
        return this.#complete(request.json as string | undefined);
      case "failed":
        return this.#failed(request as unknown as Failure);
      case "stream":
        return void this.#streams.set(request.stream as string, {
          id: request.id as string,
          input: request.input,
        });
      case "return":
        return this.#closeStream(request.stream as string);
    }
    if (
      request.t === "call" ||
      (request.t === "next" && this.#streams.get(request.stream as string)?.iterator === undefined)
    ) {
      this.#run.usage.calls += 1;
      if (this.#run.usage.calls > this.#settings.limits.calls) return this.limit("calls");
    }
    this.#add({ ...request, state: "queued" });
  }

  #add(pending: Pending) {
    this.#pending.set(pending.n, pending);
    if (pending.t === "search" || pending.t === "describe") this.#lookUp(pending);
  }

  /** The program gets an error; the text is not read. */
  #onLongRequest(line: string) {
    const n = Number(/"n":(\d+)\}$/.exec(line.slice(-32))?.[1]);
    if (line.startsWith('{"t":"completed"') && line.length <= this.#settings.limits.output * 2) {
      return this.#complete((JSON.parse(line) as { json: string }).json);
    }
    if (!Number.isInteger(n))
      return this.#fail("PROGRAM_ERROR", `A message of the program has more than ${MAX_INPUT_BYTES} bytes`);
    this.#pending.set(n, { n, t: "call", state: "running" });
    const message = `The input of a call has more than ${MAX_INPUT_BYTES} bytes`;
    this.#settle(n, {
      error: { code: InfrastructureErrorCode.VALIDATION_ERROR, message, details: { delivery: "none" } },
    });
  }

  #log({ level, text }: CodeLog, bytes: number) {
    const line = { level, text };
    this.#logBytes += bytes;
    this.#run.logs.push(line);
    quietly(() => this.#settings.options.onLog?.(line));
  }

  #lookUp({ n, t, id, query, options }: Pending) {
    const { searched, identity, isOffered } = this.#settings;
    const seenBy = (entry: Entry) => isOffered(entry) && mayCall(entry, identity);
    try {
      if (t === "search")
        return this.#settle(n, { value: searched.search(query as string, options ?? {}, seenBy) });
      const found = searched.describe(id as string, seenBy);
      if (found === undefined) throw this.#unknown(id as string);
      this.#settle(n, { value: found });
    } catch (error) {
      this.#settle(n, { error: this.#errorFor(error, undefined) });
    }
  }

  #unknown(id: string): CallError {
    return operationNotFound(
      id,
      offeredTo(this.#settings).map((entry) => entry.id),
    );
  }

  #has(entry: Entry | undefined): boolean {
    return entry !== undefined && isShown(entry) && this.#settings.isOffered(entry);
  }

  /** Takes the next step, when the machine waits. */
  #proceed() {
    if (this.#busy > 0 || this.#isStoring || this.#isOver) return;
    if (this.#restored.length > 0) {
      const restored = this.#restored as Pending[];
      for (const pending of restored.splice(0)) this.#takeUp(pending);
      if (this.#busy > 0) return;
    }
    const all = Array.from(this.#pending.values());
    const queued = all.filter(({ state }) => state === "queued");
    const running = all.filter(({ state }) => state === "running");
    const calls = running.filter(({ t }) => t === "call");
    if (queued.length > 0) {
      const room = this.#settings.limits.concurrency - calls.length;
      const starting = [
        ...queued.filter(({ t }) => t === "next"),
        ...queued.filter(({ t }) => t === "call").slice(0, Math.max(0, room)),
      ];
      if (starting.length === 0) return;
      return void (this.#isDurable ? this.#storeThen(starting) : this.#startAll(starting));
    }
    if (calls.length > 0) return;
    const waiting = all.filter(({ state }) => state === "waiting");
    if (waiting.length === 0) {
      if (running.length > 0) return;
      return this.#fail(
        "PROGRAM_ERROR",
        "The program waits for something that never happens: it has no call left that could end",
      );
    }
    // Streams cannot wait as long as people can.
    for (const key of [...this.#streams.keys()]) this.#closeStream(key);
    if (running.length > 0) {
      for (const { n } of running) this.#settle(n, { error: streamEnded() });
    } else void this.#wait(waiting);
  }

  /** Takes up a request of a machine that was restored. */
  #takeUp(pending: Pending) {
    const { n, t, state, line, id } = pending;
    this.#pending.set(n, pending);
    if (state === "done" && line !== undefined) return this.#deliver(pending, line);
    if (t === "search" || t === "describe") return this.#lookUp(pending);
    if (t === "next") return this.#settle(n, { error: streamEnded() });
    if (state !== "running") {
      pending.state = "queued";
      return;
    }
    const message = `The host ended while the call of ${id} was under way: it may have been carried out`;
    const details = { operationId: id, reason: "host-died", delivery: "unknown" };
    this.#settle(n, { error: { code: InfrastructureErrorCode.EXECUTION_ERROR, message, details } });
  }

  #startAll(starting: readonly Pending[]) {
    for (const pending of starting) {
      pending.state = "running";
      void (pending.t === "call" ? this.#call(pending) : this.#next(pending));
    }
  }

  async #storeThen(starting: readonly Pending[]): Promise<void> {
    for (const pending of starting) pending.state = "running";
    if (await this.#store("waiting")) this.#startAll(starting);
    this.#flush();
  }

  async #wait(waiting: readonly Pending[]): Promise<void> {
    this.#isDurable = true;
    this.#run.approvals = waiting.map(({ approval }) => approval as CodeApproval);
    if (await this.#store("waiting")) this.#finish({ status: "waiting" });
  }

  /** Stores the machine and what it waits for. Whether the run goes on. */
  async #store(status: CodeRun["status"]): Promise<boolean> {
    this.#isStoring = true;
    try {
      const machine = await new Promise<StoredMachine>((resolve) => {
        this.#stored = resolve;
        this.#settings.thread.send({ t: "store" });
        void this.ended.then(() => resolve({ bytes: new Uint8Array(), token: 0 }));
      });
      if (this.#isOver) return false;
      const { identity, limits, deadline } = this.#settings;
      await this.#settings.store({
        run: { ...this.#run, status, usage: this.#usage() },
        identity,
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

  /** Hands over the answers that came while the machine was being stored. */
  #flush() {
    for (const pending of [...this.#pending.values()]) {
      if (pending.state === "done" && pending.line !== undefined) this.#deliver(pending, pending.line);
    }
    this.#proceed();
  }

  async #call(pending: Pending): Promise<void> {
    const { n, id = "", input, approval } = pending;
    const { registry, identity } = this.#settings;
    const report: CodeCall = { operationId: id, status: "running" };
    this.#run.calls.push(report);
    this.#reportCall(report);
    const began = Date.now();
    const close = (status: CodeCall["status"], code?: string) => {
      Object.assign(report, { status, duration: Date.now() - began, ...(code !== undefined && { code }) });
      this.#reportCall(report);
    };
    const entry = registry.entry(id);
    try {
      if (!this.#has(entry)) throw this.#unknown(id);
      const envelope = await registry.execute(id, input, this.#context(identity, approval?.id), PROGRAM);
      const line = this.#written(n, { value: envelope });
      close("completed");
      this.#settleLine(n, line);
    } catch (error) {
      if (this.#isOver) return;
      const needed = approvalIn(error, id, registry);
      if (needed !== undefined) {
        close("waiting");
        Object.assign(pending, { state: "waiting", approval: needed });
        return this.#proceed();
      }
      const shown = this.#errorFor(error, entry);
      close("failed", shown.code);
      this.#settle(n, { error: shown });
    }
  }

  async #next({ n, stream: key = "" }: Pending): Promise<void> {
    const stream = this.#streams.get(key);
    const { registry, identity } = this.#settings;
    if (stream === undefined) return this.#settle(n, { error: streamEnded() });
    const entry = registry.entry(stream.id);
    try {
      if (stream.iterator === undefined) {
        if (!this.#has(entry)) throw this.#unknown(stream.id);
        this.#run.calls.push({ operationId: stream.id, status: "running" });
        stream.iterator = registry.subscribe(stream.id, stream.input, this.#context(identity), PROGRAM);
      }
      const { done, value } = await stream.iterator.next();
      if (done === true) this.#closeStream(key);
      this.#settleLine(n, this.#written(n, { value: done === true ? null : value }));
    } catch (error) {
      this.#closeStream(key);
      this.#settle(n, { error: this.#errorFor(error, entry) });
    }
  }

  #closeStream(key: string) {
    const stream = this.#streams.get(key);
    if (!this.#streams.delete(key) || stream?.iterator === undefined) return;
    const report = this.#run.calls.find(
      ({ operationId, status }) => operationId === stream.id && status === "running",
    );
    if (report !== undefined) report.status = "completed";
    stream.iterator.return(undefined).catch(() => {});
  }

  /** The context of an ordinary call from outside, with the run as its parent. */
  #context(identity: Identity | undefined, approval?: string): ApprovableContext {
    const { limits, deadline, options } = this.#settings;
    const ends = this.#began + limits.time - this.#timeBefore;
    const context = copyForOutside({
      requestId: newId(),
      parentRequestId: this.id,
      deadline: Math.min(deadline ?? ends, ends),
      signal: this.#abort.signal,
      ...(identity !== undefined && { identity }),
      ...(approval !== undefined && { approval }),
      ...(options.approve !== undefined && { approve: options.approve }),
    }) as ApprovableContext;
    offerEnv(this.#settings.registry, context);
    return context;
  }

  #errorFor(error: unknown, entry: Entry | undefined): { code: string; message: string; details?: unknown } {
    const mapped = mapError(error, entry?.spec.errorSchemas);
    const { code } = mapped;
    if (isInternal(mapped) || code === InfrastructureErrorCode.UNKNOWN_ERROR) {
      logFailure("code", { operationId: entry?.id ?? "", requestId: this.id }, error);
      return { code, message: "The operation failed" };
    }
    const { message, details } = withoutStderr(mapped.message, maskedDetails(mapped.details).details);
    try {
      return JSON.parse(JSON.stringify({ code, message, details })) as { code: string; message: string };
    } catch {
      return { code, message };
    }
  }

  #written(n: number, answer: { value: unknown }): string {
    let line: string;
    try {
      line = JSON.stringify({ n, ...answer });
    } catch {
      throw new CallError(InfrastructureErrorCode.EXECUTION_ERROR, "The result cannot be written as JSON", {
        delivery: "done",
      });
    }
    if (line.length <= this.#settings.limits.memory / 2) return line;
    throw new CallError(
      InfrastructureErrorCode.EXECUTION_ERROR,
      `The result has ${line.length} characters, which is too much for the program`,
      { delivery: "done" },
    );
  }

  #settle(n: number, answer: { value: unknown } | { error: object }) {
    this.#settleLine(n, JSON.stringify({ n, ...answer }));
  }

  #settleLine(n: number, line: string) {
    const pending = this.#pending.get(n);
    if (this.#isOver || pending === undefined) return;
    // What a machine gets while it is being stored would be lost.
    if (this.#isStoring) Object.assign(pending, { state: "done", line });
    else this.#deliver(pending, line);
  }

  #deliver({ n }: Pending, line: string) {
    this.#pending.delete(n);
    this.#busy += 1;
    this.#settings.thread.send({ t: "settle", line });
  }

  #reportCall(report: CodeCall) {
    quietly(() => this.#settings.options.onCall?.({ ...report }));
  }

  #complete(json: string | undefined) {
    const size = json === undefined ? 0 : Buffer.byteLength(json);
    if (size > this.#settings.limits.output) return this.limit("output");
    this.#finish({ status: "completed", ...(json !== undefined && { data: JSON.parse(json) }) });
  }

  #failed({ code, name = "Error", message, stack, details, unknown }: Failure) {
    if (code !== undefined) return this.#fail(code, message, details);
    const namespaces = offeredTo(this.#settings).map(({ spec }) => spec.namespace);
    const nearest = unknown === undefined ? undefined : nearestName(unknown, [...new Set(namespaces)]);
    const hint = nearest === undefined ? "" : `. Did you mean ${nearest}?`;
    this.#fail("PROGRAM_ERROR", `${name}: ${message}${hint}`, stack ? { stack } : undefined);
  }

  #fail(code: string, message: string, details?: unknown) {
    this.#finish({ status: "failed", error: { code, message, ...(details !== undefined && { details }) } });
  }

  #usage(): CodeRun["usage"] {
    const time = this.#timeBefore + Date.now() - this.#began;
    return { ...this.#run.usage, cpu: Math.round(this.#settings.thread.cpu), time };
  }

  /** Ends the run here: calls and streams that are open are aborted. */
  #finish(outcome: Pick<CodeRun, "status" | "data" | "error">) {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    for (const key of [...this.#streams.keys()]) this.#closeStream(key);
    this.#abort.abort();
    const run: CodeRun = { ...this.#run, ...outcome, usage: this.#usage() };
    if (outcome.status !== "waiting") delete run.approvals;
    this.#end(run);
  }

  /** Whether something of this run is in the store. */
  get isDurable(): boolean {
    return this.#isDurable;
  }
}

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

interface Failure {
  readonly code?: string;
  readonly name?: string;
  readonly message: string;
  readonly stack?: string;
  readonly details?: unknown;
  readonly unknown?: string;
}

/** What a call needs before it can be made, if that is all that kept it. A call that failed because one of its own calls needs an approval
 * has begun already, and is not repeated. */
function approvalIn(error: unknown, id: string, registry: OperationRegistry): CodeApproval | undefined {
  if (!(error instanceof CallError) || error.code !== "APPROVAL_REQUIRED") return undefined;
  const approval = isRecord(error.details) ? error.details["approval"] : undefined;
  if (!isRecord(approval) || typeof approval["id"] !== "string") return undefined;
  const of = approval["operationId"];
  if (typeof of === "string" && of !== id && registry.entry(of) !== undefined) return undefined;
  return { ...JSON.parse(JSON.stringify(approval)), id: approval["id"], operationId: id } as CodeApproval;
}

const streamEnded = () => ({
  code: InfrastructureErrorCode.ABORTED,
  message: "The stream has ended: streams do not outlive a wait for an approval",
  details: { reason: "aborted" },
});

function quietly(report: () => void): void {
  try {
    report();
  } catch {
    // The listener's own failure is no reason to end a run.
  }
}
