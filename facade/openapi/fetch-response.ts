// Responses of the user's `fetch`. Mocks answer with less than a `Response`, so every method is checked before
// it is used.

import { types } from "node:util";
import { kindOf, quoted } from "../interop/text.js";

/** As much of a `Response` as is used. */
export interface SomeResponse {
  readonly status?: unknown;
  readonly ok?: unknown;
  readonly statusText?: unknown;
  readonly headers?: unknown;
  readonly body?: { cancel?(): unknown } | null;
  arrayBuffer?(): Promise<ArrayBuffer>;
  text?(): Promise<string>;
  json?(): Promise<unknown>;
}

const encoder = new TextEncoder();

const MEMBERS = ["status", "ok", "body", "json", "text", "arrayBuffer"] as const;

/** Refuses what is not a response, such as `undefined` or `{}` from a mock without a matching route. */
export function assertResponse(response: unknown): void {
  const isObject = typeof response === "object" && response !== null;
  if (isObject && MEMBERS.some((name) => (response as SomeResponse)[name] != null)) return;
  const found = isObject ? "an object without a status or a body" : kindOf(response);
  throw new TypeError(`fetch must resolve to a Response, not ${found}`);
}

/** The status; of a mock without one, what `ok` says. */
export function statusOf({ status, ok }: SomeResponse): number {
  if (status == null) return ok === false ? 500 : 200;
  if (Number.isInteger(status) && (status as number) >= 0 && (status as number) <= 999)
    return status as number;
  throw new TypeError(`the status of the response must be a whole number such as 200, not ${quoted(status)}`);
}

/** What the server wrote after the status. */
export function statusTextOf({ statusText }: SomeResponse): string {
  return typeof statusText === "string" ? statusText : "";
}

/** The headers as pairs. */
export function headerPairs({ headers, body, json, text, arrayBuffer }: SomeResponse): [string, string][] {
  const pairs: [string, string][] = [];
  if (typeof headers === "object" && headers !== null) {
    for (const [name, value] of entriesOf(headers)) {
      if (typeof value !== "function") pairs.push([String(name), String(value)]);
    }
    // A mock whose headers have only `get`.
    const { get } = headers as { get?: unknown };
    if (pairs.length === 0 && typeof get === "function") {
      for (const name of ["content-type", "location", "retry-after"]) {
        const value: unknown = get.call(headers, name);
        if (typeof value === "string") pairs.push([name, value]);
      }
    }
  }
  // A mock that has JSON, and says nothing else, means JSON.
  const isSilent = headers == null || (body == null && text === undefined && arrayBuffer === undefined);
  if (json !== undefined && isSilent && typeOf(pairs) === "")
    pairs.push(["content-type", "application/json"]);
  return pairs;
}

/** The headers of a `Headers` object, of a mock that has its `entries`, or of a plain object. */
function entriesOf(headers: object): Iterable<[string, unknown]> {
  if (Symbol.iterator in headers) return headers as Iterable<[string, unknown]>;
  const { entries } = headers as { entries?: unknown };
  return typeof entries === "function" ? entries.call(headers) : Object.entries(headers);
}

function typeOf(headers: readonly [string, string][]): string {
  return headers.find(([name]) => name.toLowerCase() === "content-type")?.[1].toLowerCase() ?? "";
}

/** A body that is read in chunks, on demand. */
export interface BodyReader {
  /** The next piece; nothing at the end. */
  read(): Promise<Uint8Array | undefined>;
  /** Lets the rest go. */
  cancel(): void;
  /** All of it, where it came as an `ArrayBuffer`. */
  readonly whole?: ArrayBuffer | undefined;
}

/** The body of a response. */
export function bodyReader(response: SomeResponse, headers: readonly [string, string][]): BodyReader {
  const { body } = response;
  if (body != null && typeof (body as { getReader?: unknown }).getReader === "function") {
    return streamReader((body as ReadableStream<unknown>).getReader());
  }
  if (body != null && Symbol.asyncIterator in body) {
    return iteratorReader((body as AsyncIterable<unknown>)[Symbol.asyncIterator]());
  }
  // Mocks may have no body and something to say all the same; a `Response` has not.
  const isEmpty = body === null && response instanceof Response;
  return isEmpty ? NO_BODY : wholeReader(response, typeOf(headers));
}

const NO_BODY: BodyReader = { read: async () => undefined, cancel() {} };

/** What a mock leaves out, or does in its own way, is no reason to fail. */
export function quietly(work: () => unknown): void {
  try {
    const done = work() as Promise<unknown> | undefined;
    done?.then?.(undefined, () => {});
  } catch {}
}

function streamReader(reader: ReadableStreamDefaultReader<unknown>): BodyReader {
  const release = () => quietly(() => reader.releaseLock?.());
  return {
    async read() {
      const { done, value } = await reader.read();
      if (!done) return bytesOf(value);
      release();
      return undefined;
    },
    cancel() {
      quietly(() => reader.cancel?.());
      release();
    },
  };
}

function iteratorReader(iterator: AsyncIterator<unknown>): BodyReader {
  return {
    async read() {
      const { done, value } = await iterator.next();
      return done === true ? undefined : bytesOf(value);
    },
    cancel() {
      quietly(() => iterator.return?.());
    },
  };
}

/** A body that is had by the function that its type asks for, else by one that is there. */
function wholeReader(response: SomeResponse, type: string): BodyReader {
  let isRead = false;
  let whole: ArrayBuffer | undefined;
  return {
    get whole() {
      return whole;
    },
    async read() {
      if (isRead) return undefined;
      isRead = true;
      const order = /[/+]json\b/.test(type) ? WAYS.json : type.startsWith("text/") ? WAYS.text : WAYS.other;
      const way = order.find((name) => typeof response[name] === "function");
      if (way === undefined) return undefined;
      const value: unknown = await response[way]?.();
      if (types.isAnyArrayBuffer(value)) whole = value as ArrayBuffer;
      return way === "json" ? encoder.encode(JSON.stringify(value) ?? "") : bytesOf(value);
    },
    cancel() {},
  };
}

const WAYS = {
  json: ["json", "text", "arrayBuffer"],
  text: ["text", "arrayBuffer", "json"],
  other: ["arrayBuffer", "text", "json"],
} as const;

function bytesOf(chunk: unknown): Uint8Array {
  if (typeof chunk === "string") return encoder.encode(chunk);
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  if (types.isAnyArrayBuffer(chunk)) return new Uint8Array(chunk);
  if (chunk == null) return new Uint8Array();
  throw new TypeError(`the body of the response must consist of bytes or text, not ${kindOf(chunk)}`);
}
