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
  /** The channels of a Redis; `wake` is called when there is something to take. */
  readonly RedisBus: new (
    runtime: Runtime,
    options: string,
    wake: () => void,
  ) => RedisBus;
  /** Whether a text has a format; nothing for a format that the engine does not know. */
  checkFormat(name: string, text: string): boolean | null;
  knownFormats(): string[];
  /** JSON Schema's `multipleOf`, exact in decimals. */
  isMultiple(value: number, divisor: number): boolean;
  /** JSON: the UTF-16 units that are not read; and in turn data, type (null: `message`) and id (null: as
   * before) of each event. */
  parseSSEFrames(runtime: Runtime, text: string): string;
  /** `options` and everything else that is text is JSON. `wake` is called when `take` has something. */
  connectNats(runtime: Runtime, options: string, wake: () => void): Promise<NatsConnection>;
  readonly NatsConnection: abstract new () => NatsConnection;
  /** The native state machine of pending requests, step by step. In test builds only. */
  readonly CallMachine?: new (
    maxWaiting: number,
  ) => CallMachine;
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
  ids(): string[];
}

export interface RedisBus {
  listen(eventType: string): void;
  unlisten(eventType: string): void;
  /** With a request id, a failure to send is told by `take`. */
  publish(eventType: string, detail: string, requestId?: string): void;
  /** JSON (`Taken` in `redis/redis-event-target.ts`). */
  take(): string;
  close(): void;
}

/** A connection to NATS. Payloads, outputs and details are JSON. */
export interface NatsConnection {
  readonly id: string;
  call(
    id: string,
    operationId: string,
    parent: string | null,
    payload: string,
    deadline: number | null,
  ): void;
  subscribe(
    id: string,
    operationId: string,
    parent: string | null,
    payload: string,
    idleTimeout: number | null,
  ): void;
  abort(id: string): void;
  cancel(id: string): void;
  leave(id: string): void;
  consumed(id: string, count: number): void;
  pendingCount(): number;
  serve(operations: string, concurrency: number | null): Promise<void>;
  /** Whether a stream may go on at once. */
  respond(id: string, output: string): boolean;
  fail(id: string, code: string, message: string, details: string | null): void;
  complete(id: string): void;
  finished(id: string): void;
  /** An array of items (`nats/connection.ts`), or nothing. */
  take(): string | null;
  discover(milliseconds: number): Promise<string>;
  stats(): string;
  close(milliseconds: number): Promise<void>;
}

/** What is to be done after a step is told as JSON. */
export interface CallMachine {
  open(
    now: number,
    id: string,
    operationId: string,
    parent: string | undefined,
    isStream: boolean,
    limit: number | undefined,
  ): string;
  answer(now: number, id: string, event: string): string;
  ask(now: number, id: string): string;
  abort(id: string): string;
  cancel(id: string): string;
  leave(id: string): string;
  tick(now: number): string;
  nextDue(): number | null;
  count(): number;
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
