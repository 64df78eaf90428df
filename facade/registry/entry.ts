// One registered operation, with what calling it needs.

import { CallError, InfrastructureErrorCode } from "../errors.js";
import { type CompiledSchema, compiled } from "../schema/compiled.js";
import { kindOf } from "../schema/typebox-kinds.js";
import type { OperationHandler, OperationSpec, SubscriptionHandler } from "../types.js";

export type AnyHandler = OperationHandler | SubscriptionHandler;

/** What happens to outputs. */
export type OutputMode = "normalise" | "keep" | "off";

/** The schemas of an operation, ready for use. None where everything passes untouched. */
interface Prepared {
  readonly input: CompiledSchema | undefined;
  readonly output: CompiledSchema | undefined;
}

export class Entry {
  readonly id: string;
  readonly spec: OperationSpec;
  handler: AnyHandler | undefined;
  #prepared: Prepared | undefined;

  constructor(id: string, spec: OperationSpec, handler: AnyHandler | undefined) {
    this.id = id;
    this.spec = spec;
    this.handler = handler;
  }

  /** The compiled schemas: made when the operation is first used, not when it is registered. */
  get prepared(): Prepared {
    this.#prepared ??= {
      input: this.#compile(this.spec.inputSchema, "inputSchema"),
      output: this.#compile(this.spec.outputSchema, "outputSchema"),
    };
    return this.#prepared;
  }

  #compile(schema: unknown, field: "inputSchema" | "outputSchema"): CompiledSchema | undefined {
    const kind = kindOf(schema);
    if (kind === "Unknown" || kind === "Any") return undefined;
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
