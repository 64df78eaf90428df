// The handlers of imported operations.

import { restored } from "../call/wire-value.js";
import type { ResponseEnvelope } from "../envelope.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { onAbort } from "../interop/abort.js";
import { isPermitted } from "../interop/permission.js";
import { reportTarget } from "../interop/trace.js";
import type { OpenApiImport } from "../native-binding.js";
import { addTraits } from "../registry/handler-traits.js";
import { onNativeRefresh } from "../registry/native-handler.js";
import type { Spills } from "../registry/spills.js";
import { makerOf } from "../schema/lazy.js";
import {
  type OperationContext,
  type OperationHandler,
  type OperationSpec,
  OperationType,
  type SubscriptionHandler,
} from "../types.js";
import { oauthOf } from "./config-check.js";
import { callThroughFetch, replacedFetch, reportReplacedFetch } from "./custom-fetch.js";
import { FetchSource } from "./fetch-source.js";
import { NativeSource } from "./native-source.js";
import { type NativeResponse, toEnvelope } from "./outcome.js";
import { dependsOnCalls } from "./outgoing.js";
import { type HttpService, type OutgoingCall, pending } from "./service.js";
import { EventStream } from "./stream.js";

/** The handler of an imported operation. */
export function createHandler(
  service: HttpService,
  imported: OpenApiImport,
  index: number,
  operation: OperationSpec,
  isServed: boolean,
): OperationHandler | SubscriptionHandler {
  const handler =
    operation.type === OperationType.SUBSCRIPTION
      ? streaming(service, index, isServed)
      : calling(service, index, isServed);
  const makers = {
    inputSchema: makerOf(operation, "inputSchema"),
    outputSchema: makerOf(operation, "outputSchema"),
  };
  const { method, path } = Object(operation._meta);
  return addTraits(handler, {
    isImported: true,
    source: { source: "http", method: String(method), template: String(path), url: service.config.baseUrl },
    tradesCallerTokens: oauthOf(service.config.auth)?.grant === "token_exchange",
    credentials: service.hasCredentials ? service : undefined,
    limiter: service.limiter,
    endsItself: true,
    nativeWork: {
      isPossible: () => {
        const { fetch, transport } = service.config;
        const isOurs = fetch === undefined && transport !== "fetch" && isPermitted("net");
        return isOurs && !dependsOnCalls(service.config);
      },
      ownsSchema: (spec, field) => makers[field] !== undefined && makerOf(spec, field) === makers[field],
      register: (registry, spec, { input, output, own }, spills) =>
        registry.setHttp(spec, input, output, own, service.native, imported, index, spills?.native),
      request: () => imported.request(index),
    },
  });
}

onNativeRefresh(reportReplacedFetch);

function calling(service: HttpService, index: number, isServed: boolean): OperationHandler {
  const work = async (
    input: unknown,
    context: OperationContext | undefined,
    spills: Spills | undefined,
  ): Promise<ResponseEnvelope> => {
    const envelope = await call(service, index, input, context, spills, isServed);
    return isServed ? withBytes(envelope) : envelope;
  };
  const { spills } = service;
  const handler = isServed
    ? (input: unknown, context?: OperationContext) => work(input, context, spills)
    : (input: unknown, context?: OperationContext) => call(service, index, input, context, spills, false);
  return addTraits(handler, { spilling: { own: spills, call: work } });
}

/** A server of ours sends binary data as the call protocol does. */
function withBytes(envelope: ResponseEnvelope): ResponseEnvelope {
  envelope.data = restored(envelope.data);
  return envelope;
}

function streaming(service: HttpService, index: number, isServed: boolean): SubscriptionHandler {
  const handler = (input: unknown, context?: OperationContext) =>
    new EventStream(
      () => openStream(service, index, input, context, isServed),
      context?.signal,
      isServed ? withBytes : undefined,
    );
  // It returns an async generator, but is not an async generator function, so that it can be cancelled sooner.
  Object.defineProperty(handler, Symbol.toStringTag, { value: "AsyncGeneratorFunction", configurable: true });
  return handler;
}

async function call(
  service: HttpService,
  index: number,
  input: unknown,
  context: OperationContext | undefined,
  spills: Spills | undefined,
  isServed: boolean,
): Promise<ResponseEnvelope> {
  const signal = context?.signal;
  if (signal?.aborted === true) throw abortedBefore();
  const encoding = service.encode(index, input, context, isServed);
  const outgoing = encoding instanceof Promise ? await unlessAborted(encoding, signal) : encoding;
  reportTargetOf(service, index, outgoing);
  const fetch = replacedFetch(service.config);
  if (fetch !== undefined) {
    const { input: text, body, blobs, headers } = outgoing;
    const machine = service.native.drive(index, text, body, blobs, headers, false);
    return callThroughFetch(service, fetch, machine, signal);
  }
  return toEnvelope(await callNatively(service, index, outgoing, signal, spills));
}

function callNatively(
  { native: service }: HttpService,
  index: number,
  { input, body, blobs, headers }: OutgoingCall,
  signal: AbortSignal | undefined,
  spills: Spills | undefined,
): Promise<NativeResponse> {
  return pending.run({
    owner: service,
    signal,
    start: (id) => service.call(id, index, input, body, blobs, headers, spills?.native),
    cancel: (id) => service.cancel(id),
  });
}

function openStream(
  service: HttpService,
  index: number,
  input: unknown,
  context: OperationContext | undefined,
  isServed: boolean,
): NativeSource | FetchSource {
  const outgoing = service.encode(index, input, context, isServed);
  if (outgoing instanceof Promise) outgoing.then((sent) => reportTargetOf(service, index, sent), ignored);
  else reportTargetOf(service, index, outgoing);
  const fetch = replacedFetch(service.config);
  if (fetch === undefined) return new NativeSource(service.native, index, outgoing);
  return new FetchSource(fetch, service, index, outgoing);
}

/** For tracing only: errors are ignored here, because sending the request reports them. */
function reportTargetOf(
  { native: service }: HttpService,
  index: number,
  { input, blobs, headers }: OutgoingCall,
): void {
  reportTarget(() => {
    try {
      // A body is not in the URL; large ones need not cross twice.
      const none = blobs?.map(() => new Uint8Array());
      return service.target(index, input, undefined, none, headers) ?? undefined;
    } catch {
      return undefined;
    }
  });
}

function ignored(): void {}

/** What a call waits for before it is sent: a `Blob`, or a user's function, which may never return. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const forget = onAbort(signal, () => reject(abortedBefore()));
    work.then(resolve, reject).finally(forget);
  });
}

function abortedBefore(): CallError {
  const message = "The call was aborted by its signal before it began";
  return new CallError(InfrastructureErrorCode.ABORTED, message, { delivery: "none", reason: "aborted" });
}
