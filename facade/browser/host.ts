// What browsers and edge workers give: the counterpart of `interop/host.ts`.

// Jest's jsdom has no `TextEncoder`, and the logging library makes one when it is loaded. Node has it.
if (typeof TextEncoder === "undefined" && typeof process === "object") {
  const { TextEncoder } = process.getBuiltinModule?.("node:util") ?? {};
  Object.defineProperty(globalThis, "TextEncoder", {
    value: TextEncoder,
    configurable: true,
    writable: true,
  });
}

/** There are no diagnostics channels here. */
export function channel(_name: string): {
  readonly hasSubscribers: boolean;
  publish(message: unknown): void;
} {
  return { hasSubscribers: false, publish: () => {} };
}

/** A unique id. `crypto.randomUUID` exists on pages with https only. */
export function newId(): string {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  // Version 4, variant 1, as RFC 9562 says.
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Whether a value is an error, of this realm or of another one (a frame, say). */
export function isNativeError(value: unknown): boolean {
  try {
    return value instanceof Error || Object.prototype.toString.call(value) === "[object Error]";
  } catch {
    // A proxy that throws.
    return false;
  }
}

/** Resolves when the event loop has turned. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    onNextTurn(resolve);
  });
}

/** Calls back when the event loop comes round. */
export function onNextTurn(callback: () => void): void {
  setTimeout(callback, 0);
}

/** Calls back after so many milliseconds. Does not keep a process alive where there is one. */
export function later(callback: () => void, milliseconds: number): void {
  const timer: unknown = setTimeout(callback, milliseconds);
  (timer as { unref?(): void }).unref?.();
}

export interface AsyncStorage<T> {
  run<R>(value: T, work: () => R): R;
  getStore(): T | undefined;
}

/** Browsers have none; edge workers have one, as a global or as a module of Node's. */
export function newAsyncStorage<T>(): AsyncStorage<T> | undefined {
  const { AsyncLocalStorage: Storage } = globalThis as { AsyncLocalStorage?: new () => AsyncStorage<T> };
  if (Storage !== undefined) return new Storage();
  const node = typeof process === "object" ? process.getBuiltinModule?.("node:async_hooks") : undefined;
  return node && new node.AsyncLocalStorage<T>();
}

/** Milliseconds since 1970, whatever a test puts in the place of `Date` later on. */
export const systemTime: () => number = Date.now;

/** Warns the developer of the page. */
export function emitWarning(message: string, detail = ""): void {
  console.warn(message, detail);
}

/** So many bytes become arguments of one call: more of them might not fit on the stack. */
const PIECE = 8192;

export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += PIECE) {
    binary += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  }
  return btoa(binary);
}

/** As lenient as Node: both alphabets, with or without padding, and what is no base64 is passed over. */
export function fromBase64(text: string): Uint8Array {
  const end = text.indexOf("=");
  const digits = (end === -1 ? text : text.slice(0, end))
    .replaceAll("-", "+")
    .replaceAll("_", "/")
    .replace(/[^A-Za-z0-9+/]/g, "");
  // A single digit at the end is less than a byte.
  const whole = digits.length % 4 === 1 ? digits.slice(0, -1) : digits;
  return Uint8Array.from(atob(whole), (character) => character.charCodeAt(0));
}

/** A bundler has put a page together before it runs. */
export function loadLibrary(name: string): never {
  throw new Error(
    `without Node, ${name} cannot be loaded on the spot. Give the registry a schemaAdapter whose toTypeBox() converts these schemas`,
  );
}
