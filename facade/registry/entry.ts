// One registered operation, with what calling it needs.

import { CallError, invalid } from "../errors.js";
import { fromStandard } from "../schema/adapters.js";
import { type CompiledSchema, compiled } from "../schema/compiled.js";
import { isLazySchema, SCHEMA_FIELDS } from "../schema/lazy.js";
import { originalOf, type Validate, validatorOf } from "../schema/standard.js";
import { isConverted, kindOf } from "../schema/typebox-kinds.js";
import {
  type AccessControl,
  type OperationContext,
  type OperationHandler,
  type OperationSpec,
  OperationType,
  type SubscriptionHandler,
} from "../types.js";
import type { CallOrigin } from "./call.js";
import { CallGate } from "./call-gate.js";
import { addTraits, traitsOf } from "./handler-traits.js";
import type { Limiter } from "./limits.js";
import type { CallKind } from "./observer-types.js";
import { combinedRules, type EffectiveRules, frozenRules } from "./rules.js";

export type AnyHandler = OperationHandler | SubscriptionHandler;

/**
 * What happens to outputs that do not match their schema: they are normalised (`"normalise"`), normalised without
 * removing anything (`"keep"`), only checked (`"off"`), or refused (`"strict"`).
 *
 * @example
 * ```ts
 * const output: OutputMode = "strict"; // nothing is made up
 * const strict = new OperationRegistry({ output });
 * ```
 */
export type OutputMode = "normalise" | "normalize" | "keep" | "off" | "strict";

/** Both spellings are one mode. */
export function outputMode<T>(mode: T): Exclude<T, "normalize"> | "normalise" {
  return mode === "normalize" ? "normalise" : (mode as Exclude<T, "normalize">);
}

/** The mode of a registry: one for all operations, or `"strict"` for handlers of the application's own and `"normalise"` for
 * imported ones, whose sources often send other things than they declare. */
export type RegistryMode = Exclude<OutputMode, "normalize"> | "strict-own";

/** The checks of schemas that follow Standard Schema. */
export interface StandardSchemas {
  readonly input: Validate | undefined;
  readonly output: Validate | undefined;
}

/** The schemas of a spec are TypeBox schemas by now; some were made of others, whose rules are the ones that count. */
function standardSchemas(spec: OperationSpec): StandardSchemas | undefined {
  const [input, output] = SCHEMA_FIELDS.map((field) =>
    isLazySchema(spec, field) ? undefined : validatorOf(originalOf(spec[field])),
  );
  return input === undefined && output === undefined ? undefined : { input, output };
}

export class Entry {
  readonly id: string;
  readonly spec: OperationSpec;
  /** Who may call it: its own rules, and those that `protect` added. */
  rules: EffectiveRules;
  readonly #ownRules: AccessControl;
  readonly isSubscription: boolean;
  /** To the call protocol and to servers there is no such operation. */
  readonly isInternal: boolean;
  handler: AnyHandler | undefined;
  /** What is called: the handler, or the handler behind its limits. */
  run: AnyHandler | undefined;
  /** Whether a call has only the steps that every call has: see `Pipeline.execute`. */
  isPlain = false;
  /** Whether calls may need an approval. */
  readonly isGated: boolean;
  /** The limits that calls go through, if there are any. */
  gate: CallGate | undefined;
  /** Those of the operation itself, and of the registry. */
  readonly limiter: Limiter | undefined;
  readonly #registryLimiter: Limiter | undefined;
  /** The schemas, ready for use; none where everything passes untouched. See `prepare`. */
  input: CompiledSchema | undefined = undefined;
  output: CompiledSchema | undefined = undefined;
  prepared = false;
  #returned: { schema: CompiledSchema | undefined } | undefined;
  /** The sides that another library than TypeBox checks, if any. */
  readonly standard: StandardSchemas | undefined;

  constructor(
    id: string,
    spec: OperationSpec,
    handler: AnyHandler | undefined,
    limiter?: Limiter | undefined,
    registryLimiter?: Limiter | undefined,
    hasDecide = false,
  ) {
    this.id = id;
    this.spec = spec;
    this.#ownRules = frozenRules(spec.accessControl);
    this.rules = this.#ownRules;
    this.standard = standardSchemas(spec);
    this.isSubscription = spec.type === OperationType.SUBSCRIPTION;
    this.isInternal = spec.visibility === "internal";
    this.isGated = hasDecide || spec.approval === "always";
    this.limiter = limiter;
    this.#registryLimiter = registryLimiter;
    this.handler = undefined;
    this.run = undefined;
    this.gate = undefined;
    this.setHandler(handler);
  }

  /** Calls go through the limits of the operation, of its source and of the registry, where there are such. */
  setHandler(handler: AnyHandler | undefined): void {
    this.handler = handler;
    this.isPlain =
      handler !== undefined &&
      !this.isSubscription &&
      this.standard === undefined &&
      this.spec.uses === undefined &&
      !this.isGated;
    const limiters = [this.limiter, traitsOf(handler).limiter, this.#registryLimiter].filter(
      (each) => each !== undefined,
    );
    const [first, ...more] = limiters;
    this.gate = first === undefined ? undefined : new CallGate(this.id, [first, ...more]);
    this.run =
      handler === undefined ? undefined : (this.gate?.around(handler, this.isSubscription) ?? handler);
  }

  /** The handler behind the limits, with a check right before it. */
  runAfter(check: () => void, handler = this.handler as AnyHandler): AnyHandler {
    const { endsItself = false } = traitsOf(handler);
    const checked = (input: unknown, context: OperationContext) => {
      check();
      return handler(input, context);
    };
    const chosen = addTraits(checked, { endsItself }) as AnyHandler;
    return this.gate?.around(chosen, this.isSubscription) ?? chosen;
  }

  /** Sets the rules that must hold as well as its own. */
  protect(added: readonly AccessControl[]): void {
    this.rules = combinedRules(this.#ownRules, added);
  }

  /** Whether it can be called in this way, from there. */
  isCallable(kind: CallKind, { isServed }: CallOrigin): boolean {
    return (
      this.handler !== undefined &&
      this.isSubscription === (kind === "subscription") &&
      !(isServed && this.isInternal)
    );
  }

  /** Compiles the schemas: when the operation is first used, not when it is registered. */
  prepare(): void {
    // An input that its own library checks needs no other check.
    if (this.standard?.input === undefined) this.input = this.#compile(this.spec.inputSchema, "inputSchema");
    this.output = this.#compile(this.spec.outputSchema, "outputSchema");
    this.prepared = true;
  }

  /** What a handler is to return, where another library makes the output of it: the side of the schema before defaults
   * and transforms. */
  get returned(): CompiledSchema | undefined {
    this.#returned ??= { schema: this.#compileReturned() };
    return this.#returned.schema;
  }

  #compileReturned(): CompiledSchema | undefined {
    try {
      return compiled(fromStandard(originalOf(this.spec.outputSchema), "input"));
    } catch {
      // The library cannot write this side.
      return this.output;
    }
  }

  #compile(schema: unknown, field: "inputSchema" | "outputSchema"): CompiledSchema | undefined {
    if (isAnything(schema)) return undefined;
    try {
      return compiled(schema as object);
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      throw invalid(`The ${field} of operation ${this.id} cannot be used: ${error.message}`, {
        operationId: this.id,
        field,
        reason: error.message,
      });
    }
  }
}

/** `Type.Unknown()` and `Type.Any()`. What `FromSchema` made is Unknown also where TypeBox has no form for a
 * rule, which the engine knows all the same. */
export function isAnything(schema: unknown): boolean {
  const kind = kindOf(schema);
  return (kind === "Unknown" || kind === "Any") && !isConverted(schema);
}
