// Handlers whose work needs no JavaScript: which they are, and how the native registry is told to do it.

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

const looks = new Set<() => void>();

/** Has something looked at, now and then, that JavaScript may have changed and native work depends on. */
export function lookNowAndThen(look: () => void): void {
  looks.add(look);
}

/** Called wherever calls that may be served natively pass through JavaScript anyway. */
export function lookAround(): void {
  for (const look of looks) look();
}
