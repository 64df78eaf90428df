// The worker of a run: one machine at a time. `scripts/build-worker.mjs` makes one text of this file and the engine's own module, which
// `engine.ts` starts: a program in a single file needs no file beside it. Nothing of the host is in reach of the machine but `onRequest`,
// which takes a text.

import { parentPort, workerData } from "node:worker_threads";
import { gunzipSync, gzipSync } from "node:zlib";
import { nearestName } from "../interop/nearest-name.js";
import { GUEST } from "./guest.js";
import {
  type FromWorker,
  type MachineLimits,
  type RequestType,
  SINCE,
  type StoredMachine,
  type ToWorker,
  USED,
} from "./protocol.js";

/** What is used of `quickjs-wasi`, whose own declarations need those of browsers. */
interface Handle {
  readonly isString: boolean;
  toString(): string;
  getProp(name: string): Handle;
  dispose(): void;
}
interface Machine {
  readonly undefined: Handle;
  readonly true: Handle;
  readonly false: Handle;
  readonly exports: { readonly memory: { readonly buffer: ArrayBuffer } };
  evalCode(code: string, filename?: string, flags?: number): Handle;
  newFunction(name: string, run: (...args: Handle[]) => Handle): Handle;
  registerHostCallback(name: string, run: (...args: Handle[]) => Handle): void;
  newString(text: string): Handle;
  callFunction(run: Handle, self: Handle, ...args: Handle[]): Handle;
  executePendingJobs(): number;
  exportHandle(handle: Handle): number;
  importHandle(token: number): Handle;
  snapshot(): unknown;
  dispose(): void;
}
interface Engine {
  create(options: object): Promise<Machine>;
  restore(snapshot: unknown, options: object): Promise<Machine>;
  serializeSnapshot(snapshot: unknown): Uint8Array;
  deserializeSnapshot(bytes: Uint8Array): unknown;
}

const { QuickJS, EvalFlags } = require("quickjs-wasi") as {
  QuickJS: Engine;
  EvalFlags: { TYPE_MODULE: number };
};
const { wasm, shared } = workerData as { wasm: unknown; shared: SharedArrayBuffer };
const clock = new Float64Array(shared);
const port = parentPort as NonNullable<typeof parentPort>;
const post = (message: FromWorker) => port.postMessage(message);

/** What is probably a module. Otherwise it is the body of a function, and what is neither is reported as what it probably is. */
const MODULE = /^[ \t]*export[ \t]+(?:default\b|\{[^}]*\bas[ \t]+default\b)/m;

class Run {
  readonly #limits: MachineLimits;
  #machine: Machine | undefined;
  #guest: Handle | undefined;
  #token = 0;
  #names: readonly string[] = [];
  #logs: number;
  #calls: number;
  /** The sizes of requests that have no answer yet, in characters. */
  readonly #open = new Map<number, number>();
  #openSize = 0;
  #limit: keyof MachineLimits | undefined;
  #isOver = false;

  constructor(limits: MachineLimits, used = { cpu: 0, logs: 0, calls: 0 }) {
    this.#limits = limits;
    clock[USED] = used.cpu;
    this.#logs = used.logs;
    this.#calls = used.calls;
  }

  async start(message: Extract<ToWorker, { t: "start" }>): Promise<void> {
    const { offered, source, input, amaro } = message;
    this.#names = offered.map(({ id }) => id);
    const machine = await QuickJS.create(this.#options());
    this.#machine = machine;
    this.#compute(() => {
      const make = machine.evalCode(GUEST, "operations");
      const list = machine.evalCode(`(${JSON.stringify(offered)})`, "operations");
      const host = machine.newFunction("host", (...given) => this.#onRequest(given));
      this.#guest = machine.callFunction(make, machine.undefined, host, list);
      this.#token = machine.exportHandle(this.#guest);
      for (const handle of [make, list, host]) handle.dispose();
      const program = compiled(machine, source, amaro);
      if (typeof program === "string") {
        if (this.#limit !== undefined) return;
        this.#isOver = true;
        return post({ t: "syntax", message: program });
      }
      const { handle, isModule } = program;
      const given = input === undefined ? machine.undefined : machine.newString(input);
      this.#call("start", handle, isModule ? machine.true : machine.false, given);
      handle.dispose();
    });
  }

  async restore(message: Extract<ToWorker, { t: "restore" }>): Promise<void> {
    const {
      machine: { bytes, token },
      names,
      pending,
    } = message;
    this.#names = names;
    for (const n of pending) this.#open.set(n, 0);
    const snapshot = QuickJS.deserializeSnapshot(gunzipSync(bytes));
    const machine = await QuickJS.restore(snapshot, this.#options());
    this.#machine = machine;
    machine.registerHostCallback("host", (...given) => this.#onRequest(given));
    this.#token = token;
    this.#guest = machine.importHandle(token);
    post({ t: "idle" });
  }

  settle(n: number, line: string) {
    const machine = this.#machine;
    if (machine === undefined || this.#isOver) return;
    this.#openSize -= this.#open.get(n) ?? 0;
    this.#open.delete(n);
    this.#compute(() => this.#call("settle", machine.newString(line)));
  }

  store(): StoredMachine {
    const machine = this.#machine as Machine;
    return {
      bytes: gzipSync(QuickJS.serializeSnapshot(machine.snapshot()), { level: 1 }),
      token: this.#token,
    };
  }

  end() {
    this.#isOver = true;
    try {
      this.#machine?.dispose();
    } catch {
      // A machine that was interrupted may be beyond repair. Its memory goes with it.
    }
    this.#machine = undefined;
  }

  /** The engine fails allocations at twice the limit; at the limit itself the program is interrupted, which it cannot catch. */
  #options(): object {
    const { memory, cpu } = this.#limits;
    const interruptHandler = () => {
      const since = clock[SINCE] as number;
      if (since > 0 && (clock[USED] as number) + Date.now() - since > cpu) this.#limit ??= "cpu";
      return this.#isFull() || this.#limit !== undefined;
    };
    return { wasm, memoryLimit: 2 * memory, maxStackSize: 256 * 1024, timezoneOffset: 0, interruptHandler };
  }

  /** Whether there is more memory than the limit: never less, once it was taken. */
  #isFull(): boolean {
    const size = this.#machine?.exports.memory.buffer.byteLength ?? 0;
    if (size > this.#limits.memory + BASE_BYTES) this.#limit ??= "memory";
    return this.#limit === "memory";
  }

  /** Has the machine compute until the program waits or is over. */
  #compute(work: () => void) {
    if (this.#isOver) return;
    clock[SINCE] = Date.now();
    let failure: unknown;
    try {
      work();
      this.#machine?.executePendingJobs();
    } catch (error) {
      failure = error;
    }
    clock[USED] = (clock[USED] as number) + Date.now() - (clock[SINCE] as number);
    clock[SINCE] = 0;
    const isFull = failure !== undefined && /out of memory|memory access|unreachable/.test(String(failure));
    const limit = this.#limit ?? (isFull ? "memory" : undefined);
    if (limit !== undefined) {
      this.#isOver = true;
      return post({ t: "limit", limit });
    }
    if (failure !== undefined && !this.#isOver) {
      this.#isOver = true;
      return post({ t: "broken", message: String(failure) });
    }
    if (!this.#isOver) post({ t: "idle" });
  }

  #call(name: "start" | "settle", ...args: Handle[]) {
    const machine = this.#machine as Machine;
    const run = (this.#guest as Handle).getProp(name);
    machine.callFunction(run, machine.undefined, ...args).dispose();
    run.dispose();
  }

  /** The one way out of the machine. What comes here is not trusted: limits are kept here, not in the machine. */
  #onRequest(given: readonly Handle[]): Handle {
    const machine = this.#machine as Machine;
    if (
      this.#isOver ||
      this.#limit !== undefined ||
      this.#isFull() ||
      given.length !== 3 ||
      !given.every((each) => each.isString)
    )
      return machine.undefined;
    const [type, id, json] = given.map(String) as [RequestType | "nearest", string, string];
    if (type === "nearest") return machine.newString(hint(json, this.#names));
    const n = Number(id);
    if (type === "log") {
      this.#logs += Buffer.byteLength(json);
      if (this.#logs > this.#limits.logs) this.#limit = "logs";
    } else if (type === "completed" || type === "failed") {
      this.#isOver = true;
      if (Buffer.byteLength(json) > this.#limits.output + (type === "failed" ? 4_096 : 0))
        this.#limit = "output";
    } else {
      if (COUNTED.has(type)) this.#calls += 1;
      if (type !== "open" && type !== "return") this.#open.set(n, json.length);
      this.#openSize += json.length;
      if (this.#calls > this.#limits.calls || this.#open.size > MOST_OPEN) this.#limit = "calls";
      else if (this.#openSize > this.#limits.memory) this.#limit = "memory";
    }
    if (this.#limit === undefined) post({ t: "request", type, n, json });
    return machine.undefined;
  }
}

/** What the limit of calls is about. The events of a stream are not. */
const COUNTED: ReadonlySet<RequestType> = new Set<RequestType>(["call", "open", "search", "describe"]);
/** Requests without an answer, however many calls a run may make. */
const MOST_OPEN = 10_000;

/** What a machine has before any program runs in it. */
const BASE_BYTES = 2 * 1024 * 1024;

function hint(name: string, names: readonly string[]): string {
  const nearest = nearestName(name, names);
  if (nearest !== undefined) return `Did you mean ${nearest}?`;
  return "Object.keys(operations) lists all, and search(query) finds some";
}

/** The program as a function or as a module; a text says why it is neither. */
function compiled(machine: Machine, source: string, amaro: string | undefined) {
  const probably = MODULE.test(source);
  const forms = [probably, !probably].map((isModule) => ({
    isModule,
    text: isModule ? source : `(async () => {${source}\n})`,
  }));
  let first: string | undefined;
  for (const isTypeScript of [false, true]) {
    const strip = isTypeScript ? stripper(amaro) : (text: string) => text;
    if (strip === undefined) {
      return `${first}. If this is TypeScript: types are removed by Node 22.13 and newer, or by the package amaro, and neither is here`;
    }
    for (const { isModule, text } of forms) {
      try {
        const flags = isModule ? EvalFlags.TYPE_MODULE : 0;
        return { handle: machine.evalCode(strip(text), "program", flags), isModule };
      } catch (error) {
        isSpent ||= isTypeScript && !canStrip(strip);
        const { name, message, stack } = error as Error;
        first ??= `${name}: ${message} (${/program:\d+(?::\d+)?/.exec(stack ?? "")?.[0] ?? "program"})`;
        if (!first.startsWith("SyntaxError")) return first;
      }
    }
  }
  return first as string;
}

function stripper(amaro: string | undefined): ((text: string) => string) | undefined {
  const { stripTypeScriptTypes } = require("node:module") as {
    stripTypeScriptTypes?: (text: string) => string;
  };
  // Node warns that this is experimental, on the standard error of the host.
  if (stripTypeScriptTypes !== undefined) process.removeAllListeners("warning");
  if (stripTypeScriptTypes !== undefined) return stripTypeScriptTypes;
  if (amaro === undefined) return undefined;
  const { transformSync } = load(amaro) as {
    transformSync(text: string, options: object): { code: string };
  };
  return (text) => transformSync(text, { mode: "strip-only" }).code;
}

/** A path that only the host knows; bundlers must not look for it. */
const load: (path: string) => unknown = require;

/** A text that is too deep leaves what removes types broken, and no other run gets this thread. */
let isSpent = false;

function canStrip(strip: (text: string) => string): boolean {
  try {
    return strip("let a: 1") !== "";
  } catch {
    return false;
  }
}

let run: Run | undefined;

async function onMessage(message: ToWorker): Promise<void> {
  if (message.t === "start") {
    run = new Run(message.limits);
    await run.start(message);
  } else if (message.t === "restore") {
    run = new Run(message.limits, message.used);
    await run.restore(message);
  } else if (message.t === "settle") run?.settle(message.n, message.line);
  else if (message.t === "store") post({ t: "stored", machine: (run as Run).store() });
  else {
    run?.end();
    run = undefined;
    if (isSpent) process.exit();
    post({ t: "ended" });
  }
}

port.on("message", (message: ToWorker) => {
  onMessage(message).catch((error: unknown) => {
    run?.end();
    post({ t: "broken", message: String(error) });
  });
});
