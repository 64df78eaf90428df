// From an input to what crosses into native code: JSON text, and binary data beside it. What JSON has no word for
// travels in a notation of its own, which `crates/operations-http/src/message/input.rs` reads.

import { types } from "node:util";
import { wireText } from "../call/wire-value.js";
import { invalid } from "../errors.js";

/** How the native side knows the body of an operation. */
export interface BodyPlan {
  /** The property of the input that holds it. */
  readonly property: string;
  /** JSON, several parts, or something else; or the input itself, for a server of ours. */
  readonly kind: "json" | "parts" | "other" | "input";
}

export interface EncodedInput {
  /** A JSON object, or the tagged notation, which is an array. */
  readonly input: string;
  /** A JSON body, sent as it stands. */
  readonly body: string | undefined;
  readonly blobs: Uint8Array[] | undefined;
}

/** Writing an input is recursive, here and on the native side. */
const MAX_DEPTH = 512;
const NOTHING: EncodedInput = { input: "{}", body: undefined, blobs: undefined };

/** Encodes an input. Only a `Blob` has to be waited for. */
export function encodeInput(
  input: unknown,
  plan: BodyPlan | undefined,
): EncodedInput | Promise<EncodedInput> {
  if (plan?.kind === "input") return { ...NOTHING, body: wireText(input, "The input cannot be sent") };
  if (input == null) return NOTHING;
  const found = new Set<Blob>();
  if (isPlain(input, 0, found)) return plainInput(input, plan);
  if (found.size === 0) return taggedInput(input, plan, new Map());
  return readBlobs(found).then((contents) => taggedInput(input, plan, contents));
}

/** Whether JSON has words for all of it. Every `Blob` in it is found, too. */
function isPlain(value: unknown, depth: number, blobs: Set<Blob>): boolean {
  if (typeof value === "bigint") return false;
  if (typeof value !== "object" || value === null) return true;
  if (depth > MAX_DEPTH) {
    throw invalid(`The input is nested more deeply than ${MAX_DEPTH} levels, or contains itself`);
  }
  if (isBinary(value)) {
    if (isBlob(value)) blobs.add(value);
    return false;
  }
  let plain = true;
  if (Array.isArray(value)) {
    for (const element of value) if (!isPlain(element, depth + 1, blobs)) plain = false;
    return plain;
  }
  // A value with `toJSON` (a Date, say) is converted by it.
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") return true;
  for (const key in value) {
    if (!isPlain((value as Record<string, unknown>)[key], depth + 1, blobs)) plain = false;
  }
  return plain;
}

function plainInput(input: object, plan: BodyPlan | undefined): EncodedInput {
  if (plan?.kind !== "json" || !Object.hasOwn(input, plan.property)) {
    return { input: JSON.stringify(input), body: undefined, blobs: undefined };
  }
  const rest: Record<string, unknown> = Object.create(null);
  let others = false;
  for (const key of Object.keys(input)) {
    if (key === plan.property) continue;
    rest[key] = (input as Record<string, unknown>)[key];
    others = true;
  }
  return {
    input: others ? JSON.stringify(rest) : "{}",
    body: JSON.stringify((input as Record<string, unknown>)[plan.property]),
    blobs: undefined,
  };
}

function taggedInput(
  input: object,
  plan: BodyPlan | undefined,
  contents: ReadonlyMap<Blob, Uint8Array>,
): EncodedInput {
  const blobs: Uint8Array[] = [];
  const tag = (value: unknown, files: boolean): unknown => {
    if (typeof value === "bigint") return ["n", value.toString()];
    if (typeof value !== "object" || value === null) return value === undefined ? ["u"] : value;
    if (isBinary(value)) return binary(value, undefined, undefined);
    const described = files ? describedFile(value) : undefined;
    if (described !== undefined) return described;
    if (Array.isArray(value)) return ["a", ...value.map((element) => tag(element, files))];
    const json = (value as { toJSON?: unknown }).toJSON;
    if (typeof json === "function") return tag(json.call(value, ""), files);
    const parts: unknown[] = ["o"];
    for (const key of Object.keys(value)) {
      parts.push(key, tag((value as Record<string, unknown>)[key], files));
    }
    return parts;
  };
  const binary = (value: object, filename: unknown, contentType: unknown): unknown => {
    const own = isBlob(value) ? (value as Blob & { name?: unknown }) : undefined;
    const name = filename ?? own?.name;
    const type = contentType ?? own?.type;
    blobs.push(own === undefined ? bytesOf(value) : (contents.get(own) ?? new Uint8Array()));
    return ["b", blobs.length - 1, text(name), text(type)];
  };
  /** `{ data, filename, contentType }`. */
  const describedFile = (value: object): unknown => {
    const { data, filename, contentType } = value as Record<string, unknown>;
    if (typeof data === "string" && (filename !== undefined || contentType !== undefined)) {
      return binary(Buffer.from(data), filename, contentType);
    }
    if (typeof data !== "object" || data === null || !isBinary(data)) return undefined;
    return binary(data, filename, contentType);
  };
  const parts: unknown[] = ["o"];
  for (const key of Object.keys(input)) {
    const files = key === plan?.property && plan.kind !== "json";
    parts.push(key, tag((input as Record<string, unknown>)[key], files));
  }
  return { input: JSON.stringify(parts), body: undefined, blobs };
}

function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

async function readBlobs(blobs: ReadonlySet<Blob>): Promise<Map<Blob, Uint8Array>> {
  const contents = new Map<Blob, Uint8Array>();
  for (const blob of blobs) contents.set(blob, new Uint8Array(await blob.arrayBuffer()));
  return contents;
}

function isBinary(value: object): boolean {
  return ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value) || isBlob(value);
}

function isBlob(value: object): value is Blob {
  if (value instanceof Blob) return true;
  // Packages bring classes of their own.
  const tag = (value as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag];
  return (
    (tag === "Blob" || tag === "File") &&
    typeof (value as { arrayBuffer?: unknown }).arrayBuffer === "function"
  );
}

function bytesOf(value: object): Uint8Array {
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return new Uint8Array(value as ArrayBuffer);
}
