// Large results in files: those of handlers that write them while they receive them, and values and streams that JavaScript has.

import { localEnvelope, type ResponseEnvelope, type SpilledResult } from "../envelope.js";
import { CallError, failed, InfrastructureErrorCode } from "../errors.js";
import { toBase64 } from "../interop/host.js";
import { keepAlive, letGo } from "../interop/keep-alive.js";
import type { OperationHandler } from "../types.js";
import type { Entry } from "./entry.js";
import { addTraits, traitsOf } from "./handler-traits.js";
import { markAsSent } from "./response-marks.js";
import type { Spills } from "./spills.js";

const TEXT = "text/plain; charset=utf-8";
const BINARY = "application/octet-stream";
const JSON_TYPE = "application/json";

/** Where large results of a handler go, if anywhere: its own configuration comes first. */
export function spillsOf(handler: object | undefined, registry: Spills | undefined): Spills | undefined {
  return traitsOf(handler).spilling?.own ?? registry;
}

/** The handler of a call whose large results go to `spills`, or whose caller accepts no files. */
export function handlerFor(
  entry: Entry,
  acceptsFiles: boolean,
  spills: Spills | undefined,
  check: (() => void) | undefined,
): OperationHandler {
  const handler = entry.handler as OperationHandler;
  const { spilling, endsItself } = traitsOf(handler);
  let chosen: OperationHandler;
  if (spilling !== undefined && (spills !== undefined || !acceptsFiles)) {
    chosen = (input, context) => spilling.call(input, context, spills);
  } else if (spills !== undefined) {
    chosen = async (input, context) =>
      readStream(await handler(input, context), entry.id, spills, context?.signal);
  } else {
    return (check === undefined ? entry.run : entry.runAfter(check)) as OperationHandler;
  }
  // The same work, behind the same limits.
  if (endsItself === true) addTraits(chosen, { endsItself });
  if (check !== undefined) return entry.runAfter(check, chosen) as OperationHandler;
  return (entry.gate?.around(chosen, false) ?? chosen) as OperationHandler;
}

/** The same envelope, or one whose data is the beginning of a file. Errors stay as they are. */
export async function spillIfLarge(envelope: ResponseEnvelope, spills: Spills): Promise<ResponseEnvelope> {
  const { meta } = envelope;
  if (meta.spill !== undefined || (meta.source === "mcp" && meta.isError)) return envelope;
  const content = contentOf(envelope);
  if (content === undefined) return envelope;
  const { body, ...kind } = content;
  const isBlob = typeof body === "object" && "stream" in body;
  if ((isBlob ? body.size : Buffer.byteLength(body)) <= spills.over) return envelope;
  const pieces = isBlob ? (body.stream() as unknown as AsyncIterable<Uint8Array>) : [body];
  return spilledEnvelope(envelope, await writeFile(spills, pieces, () => kind));
}

interface Kind {
  readonly contentType: string;
  readonly isText: boolean;
}

/** What to write of an envelope; `undefined` if a file cannot hold its data. */
function contentOf({
  data,
  meta,
}: ResponseEnvelope): (Kind & { body: string | Uint8Array | Blob }) | undefined {
  const sent = meta.source === "http" && meta.contentType !== "" ? meta.contentType : undefined;
  if (typeof data === "string") return { body: data, contentType: sent ?? TEXT, isText: true };
  if (data instanceof Uint8Array || data instanceof ArrayBuffer) {
    const body = data instanceof ArrayBuffer ? new Uint8Array(data) : data;
    return { body, contentType: sent ?? BINARY, isText: false };
  }
  if (typeof Blob === "function" && data instanceof Blob) {
    return { body: data, contentType: data.type || sent || BINARY, isText: false };
  }
  if (meta.source === "mcp" && data === meta.content) {
    const [block, ...others] = meta.content;
    // One text is more useful as it is than in the notation of the protocol.
    if (block?.type === "text" && others.length === 0) {
      return { body: block.text, contentType: TEXT, isText: true };
    }
  }
  if (typeof data !== "object" || data === null) return undefined;
  const body = jsonOf(data);
  return body === undefined ? undefined : { body, contentType: sent ?? JSON_TYPE, isText: true };
}

/** A value as JSON, with binary data as the call protocol writes it (`call/wire-value.ts`); `undefined` if JSON cannot hold it. */
function jsonOf(value: object): string | undefined {
  try {
    return JSON.stringify(value, portable);
  } catch {
    return undefined;
  }
}

function portable(this: unknown, key: string, value: unknown): unknown {
  const original: unknown = (this as Record<string, unknown>)[key];
  if (original instanceof Uint8Array) return { $bytes: toBase64(original) };
  const isLost =
    original instanceof Map ||
    original instanceof Set ||
    typeof original === "function" ||
    typeof original === "symbol" ||
    (typeof original === "number" && !Number.isFinite(original)) ||
    (original === undefined && Array.isArray(this));
  if (isLost) throw new TypeError("JSON cannot hold the value");
  return value;
}

type Piece = string | Uint8Array;

/** The result of a handler, where it is a stream of bytes or text: an envelope that names a file, or, of a small one, the
 * bytes or the text. Anything else as it is. */
async function readStream(
  result: unknown,
  id: string,
  spills: Spills,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  if (!isByteStream(result)) return result;
  const seen = { isText: true };
  const pieces = checkedPieces(result as AsyncIterable<unknown>, id, seen, signal);
  const held: Piece[] = [];
  for (let bytes = 0; bytes <= spills.over; ) {
    const { done, value } = await pieces.next();
    if (done === true) {
      if (seen.isText) return held.join("");
      return new Uint8Array(Buffer.concat(held.map((piece) => Buffer.from(piece as Uint8Array))));
    }
    held.push(value);
    bytes += Buffer.byteLength(value);
  }
  const all = async function* () {
    try {
      yield* held.splice(0);
      yield* pieces;
    } finally {
      await pieces.return(undefined);
    }
  };
  const file = await writeFile(spills, all(), () =>
    seen.isText ? { contentType: TEXT, isText: true } : { contentType: BINARY, isText: false },
  );
  return spilledEnvelope(localEnvelope(undefined, id), file);
}

function isByteStream(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (value instanceof ReadableStream) return true;
  const { pipe, readableObjectMode } = value as { pipe?: unknown; readableObjectMode?: unknown };
  return Symbol.asyncIterator in value && typeof pipe === "function" && readableObjectMode !== true;
}

async function* checkedPieces(
  stream: AsyncIterable<unknown>,
  id: string,
  seen: { isText: boolean },
  signal: AbortSignal | undefined,
): AsyncGenerator<Piece, undefined> {
  for await (const piece of stream) {
    if (signal?.aborted === true) {
      const message = `The call of ${id} was aborted while its result was written to a file`;
      throw new CallError(InfrastructureErrorCode.ABORTED, message, { reason: "aborted", delivery: "done" });
    }
    if (typeof piece !== "string" && !(piece instanceof Uint8Array)) {
      throw failed(`The stream that ${id} returned has something in it that is neither text nor bytes`, {
        operationId: id,
        reason: "spill-failed",
      });
    }
    if (typeof piece !== "string") seen.isText = false;
    yield piece;
  }
}

/** A file, and the beginning of what is in it. */
interface SpilledFile {
  readonly spill: SpilledResult;
  readonly preview: string;
}

/** Writes a file. `kind` is called at the end. */
async function writeFile(
  spills: Spills,
  pieces: Iterable<Piece> | AsyncIterable<Piece>,
  kind: () => Kind,
): Promise<SpilledFile> {
  const writer = spills.native.begin();
  keepAlive(writer);
  try {
    for await (const piece of pieces) await writer.write(piece);
    const { contentType, isText } = kind();
    return JSON.parse(await writer.finish(contentType, isText));
  } catch (error) {
    writer.abandon();
    throw error;
  } finally {
    letGo(writer);
  }
}

function spilledEnvelope(envelope: ResponseEnvelope, { spill, preview }: SpilledFile): ResponseEnvelope {
  const meta = { ...envelope.meta, spill };
  if (meta.source === "mcp") {
    // They hold the same data once more.
    meta.content = [{ type: "text", text: preview }];
    delete meta.structuredContent;
  }
  // The beginning of a result is not the declared shape.
  markAsSent(meta);
  return { data: preview, meta };
}
