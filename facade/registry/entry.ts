// One registered operation, with what calling it needs.

import { CallError, InfrastructureErrorCode } from "../errors.js";
import { type CompiledSchema, compiled } from "../schema/compiled.js";
import { isConverted, kindOf } from "../schema/typebox-kinds.js";
import {
  type OperationHandler,
  type OperationSpec,
  OperationType,
  type SubscriptionHandler,
} from "../types.js";

export type AnyHandler = OperationHandler | SubscriptionHandler;

/** What happens to outputs. */
export type OutputMode = "normalise" | "keep" | "off";

export class Entry {
  readonly id: string;
  readonly spec: OperationSpec;
  readonly isSubscription: boolean;
  /** To the call protocol and to servers there is no such operation. */
  readonly isInternal: boolean;
  handler: AnyHandler | undefined;
  /** The schemas, ready for use; none where everything passes untouched. See `prepare`. */
  input: CompiledSchema | undefined = undefined;
  output: CompiledSchema | undefined = undefined;
  prepared = false;

  constructor(id: string, spec: OperationSpec, handler: AnyHandler | undefined) {
    this.id = id;
    this.spec = spec;
    this.isSubscription = spec.type === OperationType.SUBSCRIPTION;
    this.isInternal = spec.visibility === "internal";
    this.handler = handler;
  }

  /** Compiles the schemas: when the operation is first used, not when it is registered. */
  prepare(): void {
    this.input = this.#compile(this.spec.inputSchema, "inputSchema");
    this.output = this.#compile(this.spec.outputSchema, "outputSchema");
    this.prepared = true;
  }

  #compile(schema: unknown, field: "inputSchema" | "outputSchema"): CompiledSchema | undefined {
    if (isAnything(schema)) return undefined;
    try {
      return compiled(schema as object);
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      throw new CallError(
        InfrastructureErrorCode.VALIDATION_ERROR,
        `The ${field} of operation ${this.id} cannot be used: ${error.message}`,
        { operationId: this.id, field, reason: error.message },
      );
    }
  }
}

/** `Type.Unknown()` and `Type.Any()`. What `FromSchema` made is Unknown also where TypeBox has no form for a
 * rule, which the engine knows all the same. */
export function isAnything(schema: unknown): boolean {
  const kind = kindOf(schema);
  return (kind === "Unknown" || kind === "Any") && !isConverted(schema);
}
