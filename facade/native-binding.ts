/**
 * What the compiled addon exports (see `src/` at the top of the repository). Written by hand, and
 * held against the real exports by `__test__/native-boundary.test.mjs`.
 */
export interface NativeBinding {
  readonly Runtime: new (
    makeError: (code: string, message: string, details?: string | null) => Error,
    writeLog: (level: string, module: string, message: string, properties: string) => void,
  ) => Runtime;
  /** A compiled schema, from the encoding of `schema/encode.ts`. */
  readonly Schema: new (
    runtime: Runtime,
    encoded: string,
    options?: string,
  ) => Schema;
  /** The specs of a registry, for what runs on the native side. */
  readonly SpecStore: new () => SpecStore;
  /** Whether a text has a format; nothing for a format that the engine does not know. */
  checkFormat(name: string, text: string): boolean | null;
  knownFormats(): string[];
  /** JSON Schema's `multipleOf`, exact in decimals. */
  isMultiple(value: number, divisor: number): boolean;
  /** JSON: the UTF-16 units that are not read; and in turn data, type (null: `message`) and id (null: as
   * before) of each event. */
  parseSSEFrames(runtime: Runtime, text: string): string;
  /** One MCP server; `wake` is called when something waits to be drained. */
  readonly McpClient: new (
    runtime: Runtime,
    name: string,
    config: string,
    wake: () => void,
  ) => McpClient;
  /** In test builds only. */
  readonly TestHooks?: new (
    runtime: Runtime,
  ) => TestHooks;
}

export interface Runtime {
  /** The version of the package that the binary was built for. */
  readonly version: string;
}

/** A compiled schema. Live values are walked with the help of `callbacks` (`schema/live-callbacks.ts`). */
export interface Schema {
  /** How many steps the walk took, negative when the value does not pass. Never zero. */
  check(value: unknown, callbacks: object): number;
  /** One node of the schema. Nothing where TypeBox would throw; so in `isUnique`. */
  checkPart(value: unknown, callbacks: object, node: number): boolean | null;
  isUnique(array: unknown[], callbacks: object): boolean | null;
  isDistinct(array: unknown[], callbacks: object): boolean;
  equals(value: unknown, callbacks: object, constant: number): boolean;
  /** JSON: paths and messages in turn. */
  errors(value: unknown, callbacks: object, max: number): string;
  /** The value, JSON (paths and notes in turn), and how many steps a check of the result took. */
  normalise(value: unknown, callbacks: object, keep: boolean): [unknown, string, number];
  /** JSON (`EmittedSource` in `schema/emitted.ts`); nothing when the walk must serve. */
  emit(what: "check" | "exact"): string | null;
  format(id: number): string | null;
  pattern(id: number): string | null;
  matches(pattern: number, text: string): boolean;
  checkJson(text: string): boolean;
  errorsJson(text: string, max: number): string;
}

export interface SpecStore {
  set(id: string, json: string): void;
  remove(id: string): void;
  ids(): string[];
}

/** One MCP server. Requests have numbers, which the caller gives. */
export interface McpClient {
  connect(request: number): void;
  call(
    request: number,
    tool: string,
    input: string | undefined,
    timeout: number | undefined,
    resetTimeoutOnProgress: boolean | undefined,
    wantsProgress: boolean,
  ): void;
  query(request: number, what: string, name?: string, input?: string, timeout?: number): void;
  close(request: number): void;
  cancel(request: number): void;
  answer(question: number, answer?: string, refusal?: string): void;
  /** Heads and texts in turn: `r1` a result, `e1` an error, `p1` progress, each with the number of its
   * request; `t` the tools; `q1:kind` a question. */
  drain(): string[];
  status(): string;
}

/** Misbehaviour on request. */
export interface TestHooks {
  panicNow(message: string): void;
  panicLater(message: string): Promise<void>;
  failNow(code: string, message: string, details?: string): void;
  failLater(code: string, message: string, details?: string): Promise<void>;
  callThrough(callback: () => unknown): unknown;
  logFromThread(message: string): void;
  work(milliseconds: number): Promise<number>;
}
