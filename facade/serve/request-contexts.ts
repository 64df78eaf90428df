// What runs on behalf of a request to `createHandler` runs in the async context in which `fetch` was called. Native code does
// not know it: a header with a random id comes back with the messages of native code about the request. Native code also sends it to peers
// that it passes a call on to, where it means nothing.

import { CONTEXT_HEADER, takeContextMark } from "../call/answers.js";
import type { CallRequestedEvent } from "../call/events.js";
import { inOwnContext, inThisContext, newId } from "../interop/host.js";
import type { IdentityRequest } from "./identify.js";

type Headers = [name: string, value: string][];

export class RequestContexts {
  readonly #contexts = new Map<string, typeof inOwnContext>();

  /** Keeps the context of now for a request. */
  begin(): string {
    const request = newId();
    this.#contexts.set(request, inThisContext(inOwnContext));
    return request;
  }

  /** Puts the context of now in its place, unless the request has ended. */
  replace(request: string | undefined): void {
    if (request !== undefined && this.#contexts.has(request))
      this.#contexts.set(request, inThisContext(inOwnContext));
  }

  end(request: string): void {
    this.#contexts.delete(request);
  }

  /** Does work in the context of the request that a message of native code is about. */
  run(incoming: CallRequestedEvent | IdentityRequest, work: (request?: string) => void): void {
    const request = takeMark(incoming);
    const run = request === undefined ? undefined : this.#contexts.get(request);
    if (run === undefined) work();
    else run(() => work(request));
  }

  /** The headers of a request, for native code. What a client sends under this name is dropped. */
  mark(headers: Headers, request: string): Headers {
    const own = headers.filter(([name]) => name !== CONTEXT_HEADER);
    return [...own, [CONTEXT_HEADER, request]];
  }
}

/** The request that a message of native code is about. Neither `identify` nor a handler sees the header. */
function takeMark(incoming: CallRequestedEvent | IdentityRequest): string | undefined {
  if ("operationId" in incoming) return takeContextMark(incoming);
  const at = incoming.headers.findIndex(([name]) => name === CONTEXT_HEADER);
  return at === -1 ? undefined : incoming.headers.splice(at, 1)[0]?.[1];
}
