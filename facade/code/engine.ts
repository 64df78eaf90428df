// The engine and its workers: each computes for one run at a time, and is used again.

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { failed } from "../errors.js";
import { type FromWorker, SINCE, type ToWorker, USED } from "./protocol.js";

/** Threads without work are kept, so that the next run starts at once. */
const MOST_IDLE = 2;
/** What a run may compute beyond its limit before its thread is ended: time for the machine to notice by itself. */
const GRACE_MS = 1_000;

declare const WebAssembly: { compile(bytes: Uint8Array): Promise<object> };

export interface LoadedEngine {
  readonly wasm: object;
  /** Machines that one engine stored, no other can continue. */
  readonly hash: string;
}

export async function loadEngine(given: Uint8Array | undefined): Promise<LoadedEngine> {
  const bytes = given ?? (await installed());
  const hash = createHash("sha256").update(bytes).digest("hex");
  return { wasm: await WebAssembly.compile(bytes), hash };
}

/** Finds optional packages in node_modules. Bundlers leave it alone: webpack would read the WebAssembly as a module. */
const installedRequire = createRequire(typeof __filename === "string" ? __filename : process.execPath);

async function installed(): Promise<Uint8Array> {
  let path: string;
  try {
    path = installedRequire.resolve("quickjs-wasi/quickjs.wasm");
  } catch {
    throw failed(
      "Code mode needs the package quickjs-wasi: npm install quickjs-wasi. In a program of a single file, pass the bytes of its quickjs.wasm as engine",
      { reason: "not-installed" },
    );
  }
  return readFile(path);
}

/** Where `amaro` is, if it is installed. */
export function amaroPath(): string | undefined {
  try {
    return installedRequire.resolve("amaro");
  } catch {
    return undefined;
  }
}

export interface MachineEvents {
  onMessage(message: FromWorker): void;
  /** The thread is gone. */
  onLost(error: Error | undefined): void;
}

export class Thread {
  readonly #worker: Worker;
  readonly #clock = new Float64Array(new SharedArrayBuffer(16));
  #events: MachineEvents | undefined;
  #watchdog: NodeJS.Timeout | undefined;
  isGone = false;

  constructor(wasm: object) {
    const text: string = require("./worker-text.js");
    this.#worker = new Worker(text, {
      eval: true,
      workerData: { wasm, shared: this.#clock.buffer },
      // Nothing of the host's environment is in the worker.
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    });
    this.#worker.on("message", (message: FromWorker) => this.#events?.onMessage(message));
    const lost = (error?: Error) => {
      if (this.isGone) return;
      this.isGone = true;
      const events = this.#events;
      this.release();
      events?.onLost(error);
    };
    this.#worker.on("error", lost);
    this.#worker.on("exit", () => lost());
  }

  /** Milliseconds that the present run has computed. */
  get cpu(): number {
    const [since = 0, used = 0] = [this.#clock[SINCE], this.#clock[USED]];
    return used + (since > 0 ? Math.max(0, Date.now() - since) : 0);
  }

  /** Begins a run, which may compute so long. */
  take(events: MachineEvents, cpu: number, onOverrun: () => void): void {
    this.#clock.fill(0);
    this.listen(events);
    // Some built-ins do not look whether they are to stop.
    this.#watchdog = setInterval(() => {
      if (this.cpu > cpu + GRACE_MS && (this.#clock[SINCE] ?? 0) > 0) onOverrun();
    }, 250);
  }

  listen(events: MachineEvents): void {
    clearInterval(this.#watchdog);
    this.#events = events;
    this.#worker.ref();
  }

  release(): void {
    clearInterval(this.#watchdog);
    this.#events = undefined;
    this.#worker.unref();
  }

  send(message: ToWorker): void {
    this.#worker.postMessage(message);
  }

  async end(): Promise<void> {
    this.isGone = true;
    this.release();
    await this.#worker.terminate();
  }
}

export class Threads {
  readonly #idle: Thread[] = [];
  readonly #wasm: object;
  isClosed = false;

  constructor(wasm: object) {
    this.#wasm = wasm;
  }

  take(): Thread {
    for (let thread = this.#idle.pop(); thread !== undefined; thread = this.#idle.pop()) {
      if (!thread.isGone) return thread;
    }
    return new Thread(this.#wasm);
  }

  /** Takes a thread back once its machine is gone, or ends it. */
  async release(thread: Thread, isOverrun: boolean): Promise<void> {
    if (thread.isGone) return;
    const isFree = !isOverrun && (await isTakenApart(thread));
    thread.release();
    if (isFree && !this.isClosed && this.#idle.length < MOST_IDLE) this.#idle.push(thread);
    else if (!thread.isGone) await thread.end();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all(this.#idle.splice(0).map((thread) => thread.end()));
  }
}

/** How long a machine may take to be taken apart; it may be in the middle of a computation. */
const END_MS = 50;

function isTakenApart(thread: Thread): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), END_MS);
    const answer = (value: boolean) => {
      clearTimeout(timer);
      resolve(value);
    };
    thread.listen({ onMessage: ({ t }) => t === "ended" && answer(true), onLost: () => answer(false) });
    thread.send({ t: "end" });
  });
}
