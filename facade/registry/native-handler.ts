// Handlers whose work needs no JavaScript: which they are, and how the native registry does it.

import type { NativeRegistry, Schema } from "../native-binding.js";
import type { OperationSpec } from "../types.js";
import type { Spills } from "./spills.js";

/** The schemas of an operation for the native side. */
export interface NativeSchemas {
  /** Nothing where every value passes. */
  input: Schema | undefined;
  output: Schema | undefined;
  /** Those that are still the work's own, and were not made yet: 1 the input's, 2 the output's. */
  own: number;
}

/** The work of a handler as the native side can do it. */
export interface NativeWork {
  /** Whether it can, as far as that is known before a call. */
  isPossible(): boolean;
  /** Whether the schema that stands there is the work's own, and not made yet. */
  ownsSchema(spec: OperationSpec, field: "inputSchema" | "outputSchema"): boolean;
  /** Registers an operation with this work. `spec` is JSON, `spills` where large results go. */
  register(registry: NativeRegistry, spec: string, schemas: NativeSchemas, spills: Spills | undefined): void;
  /** If it is an HTTP request: which, as JSON (`RequestPlan` of `crates/operations-http/src/message/plan.rs`). */
  request?(): string;
}

const refreshers = new Set<() => void>();

/** Adds a function that reports to native code what JavaScript may have changed, such as a global `fetch`. */
export function onNativeRefresh(refresh: () => void): void {
  refreshers.add(refresh);
}

/** Called wherever calls that may be served natively pass through JavaScript anyway. */
export function refreshNativeState(): void {
  for (const refresh of refreshers) refresh();
}
