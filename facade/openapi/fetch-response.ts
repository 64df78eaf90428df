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

/** The value of a header, if it is there. */
export function headerOf(response: SomeResponse, wanted: string): string | undefined {
  return headerPairs(response).find(([name]) => name.toLowerCase() === wanted)?.[1];
}

/** The body, if it is not larger than the limit. */
export async function readBody(response: SomeResponse, limit: number): Promise<Uint8Array | "too large"> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bodyChunks(response)) {
    size += chunk.byteLength;
    if (size > limit) return "too large";
    chunks.push(chunk);
  }
  if (chunks.length === 1) return chunks[0] as Uint8Array;
  return Buffer.concat(chunks, size);
}

/** The body in pieces, read as they are asked for. Leaving early cancels the rest. */
export async function* bodyChunks(response: SomeResponse): AsyncGenerator<Uint8Array, void, unknown> {
  const { body } = response;
  if (body != null && typeof (body as { getReader?: unknown }).getReader === "function") {
    yield* streamChunks(body as ReadableStream<unknown>);
  } else if (body != null && Symbol.asyncIterator in body) {
    for await (const chunk of body as AsyncIterable<unknown>) yield bytesOf(chunk);
  } else if (typeof response.arrayBuffer === "function") {
    yield new Uint8Array(await response.arrayBuffer());
  } else if (typeof response.text === "function") {
    yield encoder.encode(await response.text());
  } else if (typeof response.json === "function") {
    yield encoder.encode(JSON.stringify(await response.json()) ?? "");
  }
}

async function* streamChunks(body: ReadableStream<unknown>): AsyncGenerator<Uint8Array, void, unknown> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield bytesOf(value);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function bytesOf(chunk: unknown): Uint8Array {
  if (typeof chunk === "string") return encoder.encode(chunk);
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return new Uint8Array(chunk as ArrayBuffer);
}

/** The text of a document, whatever type the response has. */
export function textOfBody(data: unknown, raw: unknown): string {
  if (data instanceof ArrayBuffer) return new TextDecoder().decode(data);
  return typeof raw === "string" ? raw : String(data ?? "");
}
