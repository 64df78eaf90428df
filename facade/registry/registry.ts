import type { ResponseEnvelope } from "../envelope.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { native } from "../runtime.js";
import { defaultAdapter, type SchemaAdapter } from "../schema/adapters.js";
import { validationError } from "../schema/validation.js";
import type { AnySchema } from "../schema-types.js";
import {
  type IOperationDefinition,
  type OperationContext,
  type OperationHandler,
  type OperationSpec,
  OperationType,
  type SubscriptionHandler,
} from "../types.js";
import { type AuthorisedCall, authorise, type CustomAuth } from "./authorise.js";
import { type AnyHandler, Entry, type OutputMode } from "./entry.js";
import { envelopeOf } from "./output.js";
import { assertHandler, assertSpec, idText, operationId } from "./spec-check.js";
import { specText } from "./spec-text.js";

export interface RegistryOptions {
  /** Turns schemas of other libraries into TypeBox schemas at registration. */
  schemaAdapter?: SchemaAdapter;
  /** Functions that `accessControl.customAuth` names. */
  customAuth?: Record<string, CustomAuth>;
  /** Direct calls of `execute` and `subscribe` skip access control. Calls through the call protocol never do. */
  trustDirectCalls?: boolean;
  /** What happens to outputs: brought into the declared shape (default), filled but not stripped, or only checked. */
  output?: OutputMode;
}

/** An operation as `get` and `list` return it. */
export type RegisteredOperation = OperationSpec & { handler?: OperationHandler | SubscriptionHandler };

/** Operations by id (`namespace.name`), and the way to call them. */
export class OperationRegistry {
  readonly #entries = new Map<string, Entry>();
  /** The specs once more, on the native side, for what runs there. */
  readonly #specs = new native.SpecStore();
  readonly #adapter: SchemaAdapter;
  readonly #customAuth: Record<string, CustomAuth>;
  readonly #trustDirectCalls: boolean;
  readonly #output: OutputMode;

  constructor(options: RegistryOptions = {}) {
    this.#adapter = options.schemaAdapter ?? defaultAdapter;
    this.#customAuth = { ...options.customAuth };
    this.#trustDirectCalls = options.trustDirectCalls === true;
    this.#output = outputMode(options.output);
  }

  /** Registers an operation, or registers it again. */
  register<TInput extends AnySchema, TOutput extends AnySchema>(
    operation: IOperationDefinition<TInput, TOutput>,
  ): void;
  register(operation: RegisteredOperation): void;
  register(operation: RegisteredOperation): void {
    const { handler, ...spec } = Object(operation) as RegisteredOperation;
    this.#add(spec, handler);
  }

  /** Registers operations in order; stops at the first that is refused. */
  registerAll(operations: Iterable<RegisteredOperation>): void {
    for (const operation of operations) this.register(operation);
  }

  /** Registers a spec; a handler that is there stays. */
  registerSpec(spec: OperationSpec): void {
    const { handler: _, ...bare } = Object(spec) as RegisteredOperation;
    this.#add(bare, this.#entries.get(operationId(bare))?.handler);
  }

  /** Registers the handler of an operation whose spec is there. */
  registerHandler(id: string, handler: OperationHandler | SubscriptionHandler): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) {
      throw new CallError(
        InfrastructureErrorCode.OPERATION_NOT_FOUND,
        `Cannot register handler for unknown operation: ${idText(id)}`,
        { operationId: id },
      );
    }
    assertHandler(id, entry.spec, handler);
    entry.handler = handler;
  }

  #add(original: OperationSpec, handler: AnyHandler | undefined): void {
    const id = operationId(original);
    const spec = this.#adapted(id, original);
    assertSpec(spec);
    if (handler !== undefined) assertHandler(id, spec, handler);
    this.#specs.set(id, specText(id, spec));
    this.#entries.set(id, new Entry(id, spec, handler));
  }

  /** The spec with its schemas as TypeBox schemas. */
  #adapted(id: string, spec: OperationSpec): OperationSpec {
    const { inputSchema, outputSchema } = spec;
    if (inputSchema === undefined || outputSchema === undefined) return spec;
    return {
      ...spec,
      inputSchema: this.#adapt(id, "inputSchema", inputSchema),
      outputSchema: this.#adapt(id, "outputSchema", outputSchema),
    };
  }

  #adapt(id: string, field: "inputSchema" | "outputSchema", schema: unknown): AnySchema {
    try {
      return this.#adapter.toTypeBox(schema, field === "inputSchema" ? "input" : "output") as AnySchema;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new CallError(
        InfrastructureErrorCode.VALIDATION_ERROR,
        `Cannot register operation ${id}: ${field}: ${reason}`,
        { operationId: id, field, reason },
      );
    }
  }

  /** Spec and handler. */
  get(id: string): RegisteredOperation | undefined {
    const entry = this.#entries.get(id);
    return entry && together(entry);
  }

  getByName(namespace: string, name: string): RegisteredOperation | undefined {
    return this.get(`${namespace}.${name}`);
  }

  getSpec(id: string): OperationSpec | undefined {
    const entry = this.#entries.get(id);
    return entry && { ...entry.spec };
  }

  getHandler(id: string): OperationHandler | SubscriptionHandler | undefined {
    return this.#entries.get(id)?.handler;
  }

  /** Every operation, in the order of registration. */
  list(): RegisteredOperation[] {
    return Array.from(this.#entries.values(), together);
  }

  getAllSpecs(): OperationSpec[] {
    return Array.from(this.#entries.values(), ({ spec }) => ({ ...spec }));
  }

  /** Calls a QUERY or a MUTATION. Resolves to an envelope, or rejects. */
  async execute<TInput = unknown, TOutput = unknown>(
    id: string,
    input: TInput,
    context: OperationContext = {},
  ): Promise<ResponseEnvelope<TOutput>> {
    const entry = this.#find(id);
    if (entry.spec.type === OperationType.SUBSCRIPTION) {
      throw new CallError(
        InfrastructureErrorCode.EXECUTION_ERROR,
        `Operation ${id} is a subscription: use subscribe() instead of execute()`,
        { operationId: id },
      );
    }
    const asked = this.#admit(entry, input, context);
    if (asked !== undefined) await asked;
    const handler = entry.handler as OperationHandler;
    return envelopeOf(entry, await handler(input, context), this.#output) as ResponseEnvelope<TOutput>;
  }

  /** What `subscribe()` needs: the checked way to the handler, and from its values to envelopes. @internal */
  async openSubscription(id: string, input: unknown, context: OperationContext): Promise<OpenSubscription> {
    const entry = this.#find(id);
    const asked = this.#admit(entry, input, context);
    if (asked !== undefined) await asked;
    const handler = entry.handler as SubscriptionHandler;
    const mode = this.#output;
    return {
      source: handler(input, context),
      envelope: (value) => envelopeOf(entry, value, mode),
    };
  }

  #find(id: string): Entry {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw notFound(`Operation not found: ${idText(id)}`, id);
    if (entry.handler === undefined) throw notFound(`No handler registered for operation: ${id}`, id);
    return entry;
  }

  /** Access, input, signal: everything before the handler. A promise only if the application is asked. */
  #admit(entry: Entry, input: unknown, context: OperationContext): Promise<void> | undefined {
    const asked =
      context.trusted === true || this.#trustDirectCalls
        ? undefined
        : authorise(entry.spec.accessControl, { operationId: entry.id, input, context }, this.#customAuth);
    if (asked === undefined) return checkInput(entry, input, context);
    return asked.then(() => checkInput(entry, input, context));
  }
}

export interface OpenSubscription {
  readonly source: unknown;
  envelope(value: unknown): ResponseEnvelope;
}

function checkInput(entry: Entry, input: unknown, context: OperationContext): undefined {
  const schema = entry.prepared.input;
  if (schema !== undefined && !schema.check(input)) {
    throw validationError(schema.errors(input), `input of operation ${entry.id}`);
  }
  if (context.signal?.aborted === true) {
    throw new CallError(
      InfrastructureErrorCode.ABORTED,
      `Operation ${entry.id} was aborted before it started`,
      {
        operationId: entry.id,
      },
    );
  }
  return undefined;
}

function notFound(message: string, id: unknown): CallError {
  return new CallError(InfrastructureErrorCode.OPERATION_NOT_FOUND, message, { operationId: id });
}

function together({ spec, handler }: Entry): RegisteredOperation {
  return handler === undefined ? { ...spec } : { ...spec, handler };
}

function outputMode(mode: unknown): OutputMode {
  if (mode === undefined) return "normalise";
  if (mode === "normalise" || mode === "keep" || mode === "off") return mode;
  throw new CallError(
    InfrastructureErrorCode.VALIDATION_ERROR,
    `RegistryOptions.output must be "normalise", "keep" or "off", not ${JSON.stringify(mode)}`,
  );
}

export type { AuthorisedCall };
