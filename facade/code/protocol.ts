// What the host and the worker of a run say to each other.

/** Of one run, in bytes and milliseconds. */
export interface MachineLimits {
  readonly memory: number;
  readonly cpu: number;
  readonly output: number;
  readonly logs: number;
}

export interface Offered {
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

export type ToWorker =
  | {
      readonly t: "start";
      readonly source: string;
      readonly input: string | undefined;
      readonly offered: readonly Offered[];
      readonly limits: MachineLimits;
      readonly amaro: string | undefined;
    }
  | {
      readonly t: "restore";
      readonly machine: StoredMachine;
      readonly names: readonly string[];
      readonly limits: MachineLimits;
      readonly used: { readonly cpu: number; readonly logs: number };
    }
  /** `line` is `{ n, value }` or `{ n, error }`. */
  | { readonly t: "settle"; readonly line: string }
  | { readonly t: "store" }
  | { readonly t: "end" };

export type FromWorker =
  /** A request of the program, as it wrote it. */
  | { readonly t: "request"; readonly line: string }
  /** The program waits, for requests or for ever. */
  | { readonly t: "idle" }
  | { readonly t: "stored"; readonly machine: StoredMachine }
  | { readonly t: "limit"; readonly limit: "memory" | "cpu" | "output" | "logs" }
  | { readonly t: "syntax"; readonly message: string }
  | { readonly t: "ended" };

/** In the shared memory of a worker: since when it computes (0: it waits), and how long it has before that. */
export const SINCE = 0;
export const USED = 1;
