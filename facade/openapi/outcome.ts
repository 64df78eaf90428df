// What the native side says about a response, as an envelope.

import type { HTTPResponseMeta, ResponseEnvelope } from "../envelope.js";
import { markAsSent, markNoted } from "../registry/response-marks.js";

/** A response as the native side has it. JSON has no word for the `data` of one without a body. */
export interface NativeResponse extends Partial<Remarks> {
  data?: unknown;
  readonly meta: HTTPResponseMeta;
  /** The document does not declare its type, as the first note says. */
  readonly isUndeclared?: true;
}

/** What is to be said about the integers of a value (`crates/operations-http/src/message/integers.rs`). */
export interface Remarks {
  /** Those that were rounded. */
  readonly notes: HTTPResponseMeta["notes"];
  /** Where a text stands for a `bigint`, as JSON Pointers. */
  readonly bigints: readonly string[];
  /** There is no value. */
  readonly isUndefined: true;
  /** The value is as good as its sender could make it. */
  readonly isAsSent: true;
}

/** The envelope of a response. */
export function toEnvelope(response: NativeResponse): ResponseEnvelope {
  if (!("data" in response)) response.data = undefined;
  const { meta, bigints, isUndeclared } = response;
  if (meta.notes !== undefined) markNoted(meta);
  // The beginning of a body is not the declared shape.
  if (meta.spill !== undefined) markAsSent(meta);
  if (isUndeclared === undefined && bigints === undefined) return response as ResponseEnvelope;
  if (isUndeclared) markAsSent(meta);
  return { data: withBigInts(response.data, bigints), meta };
}

/** The value with integers in the place of the texts that stand for them. */
export function withBigInts(value: unknown, pointers: readonly string[] | undefined): unknown {
  const root: Record<string, unknown> = { "": value };
  for (const pointer of pointers ?? []) {
    let holder = root;
    let key = "";
    for (const token of pointer.split("/").slice(1)) {
      holder = holder[key] as Record<string, unknown>;
      key = token.replaceAll("~1", "/").replaceAll("~0", "~");
    }
    // Defined, not assigned: it may be called `__proto__`, as `JSON.parse` may make it.
    const integer = BigInt(holder[key] as string);
    Object.defineProperty(holder, key, {
      value: integer,
      configurable: true,
      enumerable: true,
      writable: true,
    });
  }
  return root[""];
}
