// A result that JavaScript has, in a file: piece by piece, so that no copy of all of it is made.

import { keepAlive, letGo } from "../border/keep-alive.js";
import { localEnvelope, type ResponseEnvelope, type SpilledResult } from "../envelope.js";
import { CallError, failed, InfrastructureErrorCode } from "../errors.js";
import type { SpillWriter } from "../native-binding.js";
import { markAsSent } from "./as-sent.js";
import { jsonPieces, NotJson, slices } from "./spill-pieces.js";
import type { Spills } from "./spills.js";

const TEXT = "text/plain; charset=utf-8";
const BINARY = "application/octet-stream";
const JSON_TYPE = "application/json";

type Piece = string | Uint8Array;
type Pieces = Iterable<Piece> | AsyncIterable<Piece>;

/** What is to be written. */
interface Content {
  readonly pieces: Pieces;
  readonly contentType: string;
  readonly isText: boolean;
}

/** The same envelope, or one whose data is the beginning of a file. Errors stay as they are. */
export async function spilledIfLarge(envelope: ResponseEnvelope, spills: Spills): Promise<ResponseEnvelope> {
  const { meta } = envelope;
  if (meta.spill !== undefined || (meta.source === "mcp" && meta.isError)) return envelope;
  const content = contentOf(envelope);
  if (content === undefined) return envelope;
  try {
    const written = await new Writing(spills, content).run();
    return Array.isArray(written) ? envelope : spilledEnvelope(envelope, written);
  } catch (error) {
    // A value that JSON cannot hold stays where it is.
    if (error instanceof NotJson) return envelope;
    throw error;
  }
}

/** What a handler returned, where it is a stream of bytes or text: an envelope that names a file, or, of a small one, the
 * bytes or the text. Anything else as it is. */
export async function drained(
  result: unknown,
  id: string,
  spills: Spills,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  if (!isByteStream(result)) return result;
  const seen = { isText: true };
  const content: Content = {
    pieces: checkedPieces(result as AsyncIterable<unknown>, id, seen, signal),
    contentType: "",
    isText: true,
  };
  const written = await new Writing(spills, content, () =>
    seen.isText ? { contentType: TEXT, isText: true } : { contentType: BINARY, isText: false },
  ).run();
  if (!Array.isArray(written)) return spilledEnvelope(localEnvelope(undefined, id), written);
  if (seen.isText) return written.join("");
  return new Uint8Array(Buffer.concat(written.map((piece) => Buffer.from(piece as Uint8Array))));
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
): AsyncGenerator<Piece> {
  for await (const piece of stream) {
    if (signal?.aborted === true) {
      const message = `The call of ${id} was aborted while its result was written to a file`;
      throw new CallError(InfrastructureErrorCode.ABORTED, message, { reason: "aborted", delivery: "done" });
    }
    if (typeof piece === "string") yield* slices(piece);
    else if (piece instanceof Uint8Array) {
      seen.isText = false;
      yield piece;
    } else {
      throw failed(`The stream that ${id} returned has something in it that is neither text nor bytes`, {
        operationId: id,
        reason: "spill-failed",
      });
    }
  }
}

/** What is to be written of an envelope; nothing where its data is nothing that a file could hold. */
function contentOf({ data, meta }: ResponseEnvelope): Content | undefined {
  const sent = meta.source === "http" && meta.contentType !== "" ? meta.contentType : undefined;
  if (typeof data === "string") return { pieces: slices(data), contentType: sent ?? TEXT, isText: true };
  if (data instanceof Uint8Array || data instanceof ArrayBuffer) {
    const bytes = data instanceof ArrayBuffer ? new Uint8Array(data) : data;
    return { pieces: slices(bytes), contentType: sent ?? BINARY, isText: false };
  }
  if (typeof Blob === "function" && data instanceof Blob) {
    const pieces = data.stream() as unknown as AsyncIterable<Uint8Array>;
    return { pieces, contentType: data.type || sent || BINARY, isText: false };
  }
  if (meta.source === "mcp" && data === meta.content) {
    const [block, ...others] = meta.content;
    // One text is more useful as it is than in the notation of the protocol.
    if (block?.type === "text" && others.length === 0) {
      return { pieces: slices(block.text), contentType: TEXT, isText: true };
    }
  }
  if (typeof data !== "object" || data === null) return undefined;
  return { pieces: jsonPieces(data), contentType: sent ?? JSON_TYPE, isText: true };
}

/** What the native side says of a file. */
interface Told {
  readonly spill: SpilledResult;
  readonly preview: string;
}

/** One result on its way to a file, or not. */
class Writing {
  readonly #spills: Spills;
  readonly #content: Content;
  readonly #kind: () => { contentType: string; isText: boolean };
  #held: Piece[] = [];
  #bytes = 0;
  #writer: SpillWriter | undefined;

  constructor(
    spills: Spills,
    content: Content,
    kind = () => content as { contentType: string; isText: boolean },
  ) {
    this.#spills = spills;
    this.#content = content;
    this.#kind = kind;
  }

  /** The pieces of a small result, or what is to be said of the file. */
  async run(): Promise<Piece[] | Told> {
    keepAlive(this);
    try {
      for await (const piece of this.#content.pieces) await this.#take(piece);
      const writer = this.#writer;
      if (writer === undefined) return this.#held;
      const { contentType, isText } = this.#kind();
      return JSON.parse(await writer.finish(contentType, isText));
    } catch (error) {
      this.#writer?.abandon();
      throw error;
    } finally {
      letGo(this);
    }
  }

  async #take(piece: Piece): Promise<void> {
    if (this.#writer !== undefined) return this.#writer.write(piece);
    this.#held.push(piece);
    this.#bytes += Buffer.byteLength(piece);
    if (this.#bytes <= this.#spills.over) return;
    this.#writer = this.#spills.native.begin();
    const held = this.#held;
    this.#held = [];
    for (const each of held) await this.#writer.write(each);
  }
}

function spilledEnvelope(envelope: ResponseEnvelope, { spill, preview }: Told): ResponseEnvelope {
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
