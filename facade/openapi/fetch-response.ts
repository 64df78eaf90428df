// What a `fetch` of the user's answers. Mocks answer with less than a `Response`, so everything is asked for before
// it is used.

/** As much of a `Response` as is used. */
export interface SomeResponse {
  readonly status: number;
  readonly statusText?: string;
  readonly headers?: unknown;
  readonly body?: { cancel?(): Promise<void> } | null;
  arrayBuffer?(): Promise<ArrayBuffer>;
  text?(): Promise<string>;
  json?(): Promise<unknown>;
}

const encoder = new TextEncoder();

/** The headers as pairs. */
export function headerPairs({ headers, json }: SomeResponse): [string, string][] {
  const pairs: [string, string][] = [];
  if (typeof headers === "object" && headers !== null) {
    const entries =
      Symbol.iterator in headers ? (headers as Iterable<[string, unknown]>) : Object.entries(headers);
    for (const [name, value] of entries) {
      if (typeof value !== "function") pairs.push([String(name), String(value)]);
    }
    // A mock that only answers questions.
    const { get } = headers as { get?: unknown };
    if (pairs.length === 0 && typeof get === "function") {
      for (const name of ["content-type", "location", "retry-after"]) {
        const value: unknown = get.call(headers, name);
        if (typeof value === "string") pairs.push([name, value]);
      }
    }
  } else if (json !== undefined) {
    // A mock without headers that has JSON means JSON.
    pairs.push(["content-type", "application/json"]);
  }
  return pairs;
}

/** A body that is read piece by piece, as somebody asks for it. */
export interface BodyReader {
  /** The next piece; nothing at the end. */
  read(): Promise<Uint8Array | undefined>;
  /** Lets the rest go. */
  cancel(): void;
}

/** The body of a response. */
export function bodyReader(response: SomeResponse): BodyReader {
  const { body } = response;
  if (body != null && typeof (body as { getReader?: unknown }).getReader === "function") {
    return streamReader((body as ReadableStream<unknown>).getReader());
  }
  return iteratorReader(pieces(response));
}

function streamReader(reader: ReadableStreamDefaultReader<unknown>): BodyReader {
  return {
    async read() {
      const { done, value } = await reader.read();
      if (!done) return bytesOf(value);
      reader.releaseLock?.();
      return undefined;
    },
    cancel() {
      reader.cancel?.()?.catch(() => {});
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
      iterator.return?.()?.catch(() => {});
    },
  };
}

function pieces(response: SomeResponse): AsyncIterator<unknown> {
  const { body } = response;
  if (body != null && Symbol.asyncIterator in body) {
    return (body as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  }
  return whole(response);
}

async function* whole(response: SomeResponse): AsyncGenerator<unknown> {
  if (typeof response.arrayBuffer === "function") yield await response.arrayBuffer();
  else if (typeof response.text === "function") yield await response.text();
  else if (typeof response.json === "function") yield JSON.stringify(await response.json()) ?? "";
}

function bytesOf(chunk: unknown): Uint8Array {
  if (typeof chunk === "string") return encoder.encode(chunk);
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return new Uint8Array(chunk as ArrayBuffer);
}
