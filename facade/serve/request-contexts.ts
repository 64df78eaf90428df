// What runs on behalf of a request runs in the async context that `identify` has entered, and in that in which `fetch` of
// `createHandler` was called. Native code does not know contexts. It says which request to `identify` a call belongs to; for `fetch`, a
// header with a random id comes back with the messages of native code. Native code also sends it to peers that it passes a call on to,
// where it means nothing.

import { CONTEXT_HEADER, takeContextMark } from "../call/answers.js";
import type { CallRequestedEvent } from "../call/events.js";
import { inOwnContext, inThisContext, newId } from "../interop/host.js";
import type { IdentityRequest } from "./identify.js";

type Headers = [name: string, value: string][];

/** A call, as the native side hands it over. */
export type ServedCallRequest = CallRequestedEvent & {
  /** The request to `identify` that has identified its caller, unless the answer was kept. */
  identifiedBy?: string;
};

export class RequestContexts {
  readonly #contexts = new Map<string, typeof inOwnContext>();

  /** Keeps the context of now for a request. */
  begin(request: string = newId()): string {
    this.#contexts.set(request, inThisContext(inOwnContext));
    return request;
  }

  /** Puts the context of now in its place, unless the request has ended. */
  replace(request: string): void {
    if (this.#contexts.has(request)) this.begin(request);
  }

  end(request: string): void {
    this.#contexts.delete(request);
  }

  /** Does work in the context of the request that a message of native code is about. */
  run(incoming: ServedCallRequest | IdentityRequest, work: () => void): void {
    const mark = takeMark(incoming);
    const identified = "operationId" in incoming ? incoming.identifiedBy : undefined;
    const run = this.#contexts.get(identified ?? "") ?? this.#contexts.get(mark ?? "");
    if (run === undefined) work();
    else run(work);
  }

  /** The headers of a request, for native code. What a client sends under this name is dropped. */
  mark(headers: Headers, request: string): Headers {
    const own = headers.filter(([name]) => name !== CONTEXT_HEADER);
    return [...own, [CONTEXT_HEADER, request]];
  }
}

/** The request that a message of native code is about. Neither `identify` nor a handler sees the header. */
function takeMark(incoming: ServedCallRequest | IdentityRequest): string | undefined {
  if ("operationId" in incoming) return takeContextMark(incoming);
  const at = incoming.headers.findIndex(([name]) => name === CONTEXT_HEADER);
  return at === -1 ? undefined : incoming.headers.splice(at, 1)[0]?.[1];
}
