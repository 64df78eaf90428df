import type { ProgramRunner } from "./tools/program-run.js";
import type { AccessControl, Identity, IOperationDefinition } from "./types.js";

/**
 * What a run may use, in bytes and milliseconds. Calls above `concurrency` wait; every other limit ends the run.
 *
 * @example
 * ```ts
 * const limits: CodeLimits = { cpu: 1_000, calls: 20 };
 * ```
 */
export interface CodeLimits {
  /** Memory of the machine (default 64 MiB). */
  memory?: number;
  /** Time that the program computes (default 5 s). Waiting for calls does not count. */
  cpu?: number;
  /** Time from start to end (default 5 min). Waiting for an approval does not count. */
  time?: number;
  /** Calls and subscriptions, `search` and `describe` included (default 100). */
  calls?: number;
  /** Calls at once (default 10). */
  concurrency?: number;
  /** The value of the program as JSON (default 256 KiB). */
  output?: number;
  /** What the program writes to `console` (default 64 KiB). */
  logs?: number;
  /** The program itself (default 256 KiB). */
  source?: number;
}

/**
 * Where runs that wait are stored. It is trusted: it holds what programs have read.
 *
 * @example
 * ```ts
 * const kept = new Map<string, string>();
 * const store: CodeStore = {
 *   get: async (id) => kept.get(id),
 *   put: async (id, record) => void kept.set(id, record),
 *   delete: async (id) => void kept.delete(id),
 * };
 * ```
 */
export interface CodeStore {
  get(id: string): Promise<string | undefined>;
  put(id: string, record: string): Promise<void>;
  delete(id: string): Promise<void>;
  /**
   * Locks a run for this process and returns a function that unlocks it; `undefined` if it is locked. Without it, two processes that
   * share the store are not kept from resuming one run at once.
   */
  lock?(id: string): Promise<(() => Promise<void>) | undefined>;
}

/**
 * Options of `createCodeRunner`.
 *
 * @example
 * ```ts
 * const options: CodeRunnerOptions = { limits: { calls: 20 }, store: { dir: "/var/lib/demo/runs" } };
 * ```
 */
export interface CodeRunnerOptions {
  limits?: CodeLimits;
  /** Where runs that wait for an approval are stored: in memory (default), in a folder, or in a store of your own. */
  store?: "memory" | { dir: string } | CodeStore;
  /** The bytes of `quickjs-wasi/quickjs.wasm`, for programs in a single file (default: those of the installed package). */
  engine?: Uint8Array;
}

/**
 * Options of one run.
 *
 * @example
 * ```ts
 * const options: CodeRunOptions = { identity, input: { limit: 10 }, deadline: Date.now() + 30_000 };
 * ```
 */
export interface CodeRunOptions {
  /** Who the calls are made for. Without it, the program can call what is open to everyone. */
  identity?: Identity;
  /** JSON that the program reads as `input`. */
  input?: unknown;
  signal?: AbortSignal;
  /** Milliseconds since 1970. */
  deadline?: number;
  /** Called with each line that the program writes to `console`. */
  onLog?(log: CodeLog): void;
  /** Called when a call begins and when it ends, with its place in `calls`. */
  onCall?(call: CodeCall, index: number): void;
  /** As `approve` of a direct call: asks a person at once. It is handed to each call. */
  approve?(request: unknown): boolean | Promise<boolean>;
}

/**
 * A line of a program.
 *
 * @example
 * ```ts
 * const line: CodeLog = { level: "info", text: "3 tasks" };
 * ```
 */
export interface CodeLog {
  level: "debug" | "info" | "warn" | "error";
  text: string;
}

/**
 * A call that a program made.
 *
 * @example
 * ```ts
 * const call: CodeCall = { operationId: "tasks.list", status: "completed", duration: 12 };
 * ```
 */
export interface CodeCall {
  operationId: string;
  status: "running" | "completed" | "failed" | "waiting";
  /** The code of its error. */
  code?: string;
  /** Milliseconds, once it has ended. */
  duration?: number;
}

/**
 * A call that waits for an approval.
 *
 * @example
 * ```ts
 * const waiting: CodeApproval = { id: "a-1", operationId: "tasks.remove", input: { id: 7 } };
 * ```
 */
export interface CodeApproval {
  id: string;
  operationId: string;
  /** What the operation would be called with. */
  input?: unknown;
  [more: string]: unknown;
}

/**
 * A run: how it ended, or what it waits for.
 *
 * @example
 * ```ts
 * const { status, data, error }: CodeRun = await createCodeRunner(registry).run("return 1 + 1");
 * ```
 */
export interface CodeRun {
  id: string;
  status: "completed" | "failed" | "waiting";
  /** The value of the program. */
  data?: unknown;
  /** `LIMIT_EXCEEDED` has `details.limit`; `SYNTAX_ERROR` and `PROGRAM_ERROR` are the program's. */
  error?: { code: string; message: string; details?: unknown };
  logs: CodeLog[];
  calls: CodeCall[];
  /** Milliseconds. */
  usage: { cpu: number; time: number; calls: number };
  /** What a waiting run waits for. */
  approvals?: CodeApproval[];
}

/**
 * Runs programs against the operations of a registry.
 *
 * @example
 * ```ts
 * const runner: CodeRunner = createCodeRunner(registry);
 * const { data } = await runner.run("return (await tasks.list({})).length", { identity });
 * await runner.close();
 * ```
 */
export interface CodeRunner extends ProgramRunner {
  /** Runs a program. Rejects for wrong options only: a program that fails is a run that failed. */
  run(source: string, options?: CodeRunOptions): Promise<CodeRun>;
  /** Continues a run that waits; the result of one that has ended is given again. Who it is for was stored with it. */
  resume(
    id: string,
    options?: Pick<CodeRunOptions, "signal" | "onLog" | "onCall" | "approve">,
  ): Promise<CodeRun>;
  /**
   * `code.run`, `code.watch` and `code.signatures`, to be registered: `registry.registerAll(runner.operations())`. The explorer has a page
   * for them. A program has the authority of its caller; `accessControl` says who may run programs at all (default: everyone).
   */
  operations(options?: { accessControl?: AccessControl }): IOperationDefinition[];
  /** Deletes what is stored of a run. */
  forget(id: string): Promise<void>;
  /** Ends all runs and their threads. */
  close(): Promise<void>;
}
