// A registry as a function from requests to answers, for programs that have a server already.

import type { CloseOptions } from "../call/transport.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { onAbort } from "../interop/abort.js";
import { closedOnce } from "../interop/closing.js";
import { keepAliveDuring } from "../interop/keep-alive.js";
import { refusal } from "../interop/options.js";
import type { ServedExchange } from "../native-binding.js";
import { assertRegistry } from "../registry/assert-registry.js";
import type { OperationRegistry } from "../registry/registry.js";
import { checkedServe, type ServeOptions } from "./options.js";
import { RequestContexts } from "./request-contexts.js";
import { RegistryService } from "./serve.js";

/**
 * Options of `createHandler`.
 *
 * @example
 * ```ts
 * const options: RegistryHandlerOptions = { doors: { http: true }, allowedHosts: ["api.example.com"] };
 * ```
 */
export type RegistryHandlerOptions = Omit<ServeOptions, "port" | "host" | "tls">;

/**
 * A registry as a function from requests to answers.
 *
 * @example
 * ```ts
 * const handler: RegistryHandler = createHandler(registry, { doors: { http: true } });
 * const response = await handler.fetch(new Request("http://localhost/api/openapi.json"));
 * await handler.close();
 * ```
 */
export interface RegistryHandler {
  /** Answers a request. It need not be called as a method. It rejects with `ABORTED` if the request was given up. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Notifies MCP clients that watch this resource that it has changed. */
  readonly resourceUpdated: (uri: string) => void;
  /** Ends streams, lets running calls finish, and aborts the rest after `drain`. */
  readonly close: (options?: CloseOptions) => Promise<void>;
}

/** Bodies up to this size cross in one piece, if their size is known. In bytes. */
const SMALL = 64 * 1024;

/**
 * Serves a registry without a port: for Hono, `Bun.serve`, `Deno.serve`, Next and everything else that works with `Request` and
 * `Response`. `toNodeListener` makes it fit Express and `node:http`. The paths of the doors are those of the URL.
 *
 * @example
 * ```ts
 * const handler = createHandler(registry, { doors: { http: true } });
 * const response = await handler.fetch(new Request("http://localhost/api/demo/greet?name=Ada"));
 * ```
 */
export function createHandler(registry: OperationRegistry, options: RegistryHandlerOptions): RegistryHandler {
  for (const name of ["port", "host", "tls"] as const) {
    if (Object(options)[name] !== undefined) {
      throw refusal(`createHandler: ${name}`, "is an option of serve(), which opens a port");
    }
  }
  const checked = checkedServe(options, "createHandler");
  assertRegistry(registry, "createHandler");
  return new FetchHandler(registry, checked);
}

class FetchHandler implements RegistryHandler {
  readonly #service: RegistryService;
  readonly #contexts = new RequestContexts();

  constructor(registry: OperationRegistry, options: RegistryHandlerOptions) {
    this.#service = new RegistryService(registry, options, this.#contexts);
  }

  // Functions of the object and not of its class, so that they can be taken out of it.

  readonly fetch = async (request: Request): Promise<Response> => {
    const { signal } = request;
    if (signal.aborted) throw gone();
    const exchange = this.#service.native.exchange();
    const forget = onAbort(signal, () => exchange.cancel());
    const context = this.#contexts.begin();
    try {
      const headers = this.#contexts.mark([...request.headers], context);
      const head = JSON.parse(await keepAliveDuring(send(exchange, request, headers))) as Head;
      return answer(exchange, head, forget);
    } catch (error) {
      forget?.();
      // Nothing of it is running any more, and the rest of its body will not come.
      exchange.cancel();
      throw error;
    } finally {
      this.#contexts.end(context);
    }
  };

  readonly resourceUpdated = (uri: string): void => this.#service.resourceUpdated(uri);

  readonly close = closedOnce((drain) => this.#service.close(drain));
}

/** The head of a response, from the native side. */
interface Head {
  readonly status: number;
  readonly headers: [name: string, value: string][];
  /** Whether its body comes in pieces. */
  readonly hasMore: boolean;
}

/** Brings a request, with its body. */
async function send(
  exchange: ServedExchange,
  request: Request,
  headers: [name: string, value: string][],
): Promise<string> {
  const { pathname, search, host } = new URL(request.url);
  const head = JSON.stringify({
    method: request.method,
    target: pathname + search,
    host,
    headers,
  });
  if (request.body === null) return exchange.send(head, new Uint8Array());
  const length = request.headers.get("content-length");
  // It is not waited for: how long a body may take is decided on the native side, for all.
  const answered = exchange.send(head);
  if (length !== null && Number(length) <= SMALL) {
    request.arrayBuffer().then(
      (body) => exchange.finish(new Uint8Array(body)),
      () => exchange.end(false),
    );
    return answered;
  }
  // Whether it was received shows in the answer, which may not need all of it.
  void pump(exchange, request.body);
  return answered;
}

async function pump(exchange: ServedExchange, body: ReadableStream<Uint8Array>): Promise<void> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  try {
    // Something else may have begun to read it.
    reader = body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        exchange.end(true);
        return;
      }
      if (!(await exchange.push(value))) break;
    }
    exchange.end(false);
    await reader.cancel();
  } catch {
    // Its sender is gone, or it was read before.
    exchange.end(false);
  }
}

/** The response. Its body is requested as it is read. */
function answer(exchange: ServedExchange, head: Head, forget: (() => void) | undefined): Response {
  const { status } = head;
  if (!head.hasMore) {
    forget?.();
    const whole = exchange.whole();
    const isEmpty = whole === null || whole.length === 0 || status === 204 || status === 304;
    return new Response(isEmpty ? null : whole, { status, headers: head.headers });
  }
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const piece = await keepAliveDuring(exchange.next());
          if (piece !== null) {
            controller.enqueue(piece);
            return;
          }
          forget?.();
          controller.close();
        } catch (error) {
          forget?.();
          controller.error(error);
        }
      },
      cancel() {
        forget?.();
        exchange.cancel();
      },
    },
    // Nothing is read ahead: a client that does not read must not make the operation go on.
    { highWaterMark: 0 },
  );
  return new Response(body, { status, headers: head.headers });
}

function gone(): CallError {
  const details = { delivery: "none", reason: "aborted" };
  return new CallError(InfrastructureErrorCode.ABORTED, "The request was given up before it began", details);
}
