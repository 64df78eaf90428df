// What the host and the worker of a run say to each other.

/** Of one run, in bytes and milliseconds. */
export interface MachineLimits {
  readonly memory: number;
  readonly cpu: number;
  readonly calls: number;
  readonly output: number;
  readonly logs: number;
}

export interface OfferedOperation {
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly isStream: boolean;
  readonly description: string;
}

/** A machine as it was stored. `token` finds the functions of `guest.ts` in it. */
export interface StoredMachine {
  readonly bytes: Uint8Array;
  readonly token: number;
}

/** What a program sends. `open`, `return` and `log` get no answer, and nothing follows `completed` and `failed`. */
export type RequestType =
  | "call"
  | "search"
  | "describe"
  | "open"
  | "next"
  | "return"
  | "log"
  | "completed"
  | "failed";

export type ToWorker =
  | {
      readonly t: "start";
      readonly source: string;
      readonly input: string | undefined;
      readonly offered: readonly OfferedOperation[];
      readonly limits: MachineLimits;
      readonly amaro: string | undefined;
    }
  | {
      readonly t: "restore";
      readonly machine: StoredMachine;
      readonly names: readonly string[];
      readonly limits: MachineLimits;
      readonly used: { readonly cpu: number; readonly logs: number; readonly calls: number };
      /** Requests that have no answer yet. */
      readonly pending: readonly number[];
    }
  /** `line` is `{ n, value }` or `{ n, error }`. */
  | { readonly t: "settle"; readonly n: number; readonly line: string }
  | { readonly t: "store" }
  | { readonly t: "end" };

export type FromWorker =
  /** A request of the program, as it wrote it. */
  | { readonly t: "request"; readonly type: RequestType; readonly n: number; readonly json: string }
  /** The program waits, for requests or for ever. */
  | { readonly t: "idle" }
  | { readonly t: "stored"; readonly machine: StoredMachine }
  | { readonly t: "limit"; readonly limit: keyof MachineLimits }
  | { readonly t: "syntax"; readonly message: string }
  /** The machine cannot be used. */
  | { readonly t: "broken"; readonly message: string }
  | { readonly t: "ended" };

/** In the shared memory of a worker: since when it computes (0: it waits), and how long it has before that. */
export const SINCE = 0;
export const USED = 1;
