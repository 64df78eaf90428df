/**
 * What the compiled addon exports (see `src/` at the top of the repository). Written by hand, and
 * held against the real exports by `__test__/native-boundary.test.mjs`.
 */
export interface NativeBinding {
  readonly Runtime: new (
    makeError: (code: string, message: string, details?: string | null) => Error,
    writeLog: (level: string, module: string, message: string, properties: string) => void,
  ) => Runtime;
  /** In test builds only. */
  readonly TestHooks?: new (
    runtime: Runtime,
  ) => TestHooks;
}

export interface Runtime {
  /** The version of the package that the binary was built for. */
  readonly version: string;
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
