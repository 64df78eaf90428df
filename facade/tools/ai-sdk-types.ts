// The types of tools for the AI SDK, written down so that versions 5, 6 and 7 take them, and the schema that they know.

import type { MCPContentBlock } from "../envelope.js";
import type { UntypedOperations } from "../operation-types.js";
import type { IsAny } from "../schema-types.js";
import type { CallContext, CallerIdentity, OperationSpec } from "../types.js";
import type { ProgramRunner } from "./program-run.js";
import type { JSONSchema } from "./projection.js";
import type { Include } from "./selection.js";
import type { ToolTarget } from "./targets.js";

/**
 * The options that the AI SDK passes to a tool.
 *
 * @example
 * ```ts
 * const context = ({ toolCallId }: AISDKToolCall) => ({ identity, requestId: toolCallId });
 * const tools = toAISDKTools(registry, { context });
 * ```
 */
export interface AISDKToolCall {
  toolCallId: string;
  messages?: unknown;
  abortSignal?: AbortSignal | undefined;
}

/**
 * Options of `toAISDKTools`.
 *
 * @example
 * ```ts
 * const options: AISDKToolsOptions = { identity, include: ["tasks.*"], needsApproval: true };
 * const tools = toAISDKTools(registry, options);
 * ```
 */
export interface AISDKToolsOptions {
  /**
   * The user for whom the model works. Only operations that this identity may call are listed, and calls are made with
   * it.
   */
  identity?: CallerIdentity | undefined;
  /** Ids and patterns (`files.*`), or a function of the spec. All operations if left out. */
  include?: Include | undefined;
  /** Returns another tool name for an operation. It is adapted to the rules of the target. */
  names?: ((spec: OperationSpec) => string | undefined) | undefined;
  /** The schema dialect, if your model's provider requires one. Default `"json-schema"`. */
  target?: ToolTarget | undefined;
  /** Bytes of text in a result; what is longer is shortened for the model. Default 64 KiB. */
  maxResultBytes?: number | undefined;
  /** As `errors` of `toTools`. */
  errors?: "mask" | "expose" | undefined;
  /** Which calls a person has to approve first. Version 5 of the AI SDK cannot ask, so these calls fail there. */
  needsApproval?:
    | boolean
    | ((spec: OperationSpec, input: unknown) => boolean | PromiseLike<boolean>)
    | undefined;
  /** Further properties of the context of calls, such as a deadline. The abort signal is the AI SDK's. */
  context?: CallContext | ((call: AISDKToolCall) => CallContext) | undefined;
  /** As `mode`, `runner` and `budget` of `toTools`. */
  mode?: "code" | undefined;
  runner?: ProgramRunner | undefined;
  budget?: number | undefined;
}

/**
 * The output of a tool: the data of the envelope, and the content blocks of an MCP tool or of a binary result.
 *
 * @example
 * ```ts
 * const { data }: AISDKToolOutput<number> = { data: 42 };
 * ```
 */
export interface AISDKToolOutput<TData = unknown> {
  /** Absent if the result is binary. */
  data?: TData;
  content?: MCPContentBlock[];
}

/**
 * A schema as the AI SDK takes it.
 *
 * @example
 * ```ts
 * const schema: AISDKSchema<unknown> | undefined = Object.values(toAISDKTools(registry))[0]?.inputSchema;
 * console.log(schema?.jsonSchema);
 * ```
 */
export interface AISDKSchema<TInput> {
  /** For the types of version 5 only, which knows no Standard Schema but schemas that are made by a function. */
  (): never;
  readonly jsonSchema: JSONSchema;
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => { readonly value: TInput; readonly issues?: undefined };
    readonly types?: { readonly input: unknown; readonly output: TInput } | undefined;
    readonly jsonSchema: {
      readonly input: (options: { readonly target: string }) => JSONSchema;
      readonly output: (options: { readonly target: string }) => JSONSchema;
    };
  };
}

/**
 * A tool for `generateText` and `streamText`.
 *
 * @example
 * ```ts
 * const [tool]: AISDKTool[] = Object.values(toAISDKTools(registry));
 * console.log(tool?.description);
 * ```
 */
export interface AISDKTool<TInput = unknown, TOutput = unknown> {
  description: string;
  title?: string;
  inputSchema: AISDKSchema<TInput>;
  /** Rejects with a message that is meant for the model. */
  execute: (
    input: TInput,
    call: AISDKToolCall,
  ) => Promise<AISDKToolOutput<TOutput>> | AsyncIterable<AISDKToolOutput<TOutput>>;
  needsApproval?: (input: TInput, call: AISDKToolCall) => Promise<boolean>;
}

/** Tools by name, where their operations are not known to the compiler. */
export type AnyAISDKTools = Record<string, AISDKTool>;

/**
 * The tools of a registry: by name, with their inputs and outputs, where the registry knows them.
 *
 * @example
 * ```ts
 * const typed = createRegistry([greet]);
 * const tools: AISDKTools<(typeof typed)["~operations"]> = toAISDKTools(typed);
 * tools.demo_greet.description;
 * ```
 */
export type AISDKTools<TOperations> =
  IsAny<TOperations> extends true
    ? AnyAISDKTools
    : {
        [TTool in ToolsOf<TOperations> as TTool["name"]]: AISDKTool<TTool["input"], TTool["output"]>;
      } & OtherTools<TOperations>;

/** Tools of operations that the compiler does not know, such as those of an adapter. */
type OtherTools<TOperations> =
  TOperations extends UntypedOperations<infer TNamespace>
    ? string extends TNamespace
      ? // biome-ignore lint/suspicious/noExplicitAny: nothing is known of their inputs
        { [name: string]: AISDKTool<any, any> }
      : // biome-ignore lint/suspicious/noExplicitAny: nothing is known of their inputs
        { [TName in `${ToolName<TNamespace>}_${string}`]: AISDKTool<any, any> }
    : unknown;

/** Each operation with the name of its tool. */
type ToolsOf<TOperations> = {
  [N in keyof TOperations & string]: {
    [K in keyof TOperations[N] & string]: TOperations[N][K] extends {
      readonly type: infer TType;
      readonly input: infer TInput;
      readonly output: infer TOutput;
    }
      ? {
          name: ToolName<`${N}.${K}`>;
          input: TInput;
          output: TType extends "subscription" ? TOutput[] : TOutput;
        }
      : never;
  }[keyof TOperations[N] & string];
}[keyof TOperations & string];

/** An id as a name of a tool, as far as the compiler can tell. */
type ToolName<TId extends string> = TId extends `${infer TStart}.${infer TEnd}`
  ? ToolName<`${TStart}_${TEnd}`>
  : TId extends `${infer TStart}/${infer TEnd}`
    ? ToolName<`${TStart}_${TEnd}`>
    : TId;

/** What a model is given of a result. */
export type AISDKToolContent =
  | { type: "text"; value: string }
  | { type: "content"; value: { type: string; [member: string]: unknown }[] };

/** How the AI SDK recognises its own schemas, in all versions. */
const SCHEMA = Symbol.for("vercel.ai.schema");

/** A schema for the AI SDK. It checks nothing: the operation does, with messages that are meant for the model. */
export function schemaFor(schema: () => JSONSchema): AISDKSchema<never> {
  const made = {
    [SCHEMA]: true,
    _type: undefined,
    get jsonSchema() {
      return schema();
    },
    validate: (value: unknown) => ({ success: true, value }),
    "~standard": {
      version: 1,
      vendor: "@alkdev/operations",
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: schema, output: schema },
    },
  };
  return made as unknown as AISDKSchema<never>;
}
