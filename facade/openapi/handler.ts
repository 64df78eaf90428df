// The handlers of imported operations.

import { awaitArrival, completions, forget, nextId } from "../completions.js";
import type { ResponseEnvelope } from "../envelope.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import type { HttpService as NativeService, OpenApiImport } from "../native-binding.js";
import { native, runtime } from "../runtime.js";
import type { OperationContext, OperationHandler, SubscriptionHandler } from "../types.js";
import { onAbort } from "./abort.js";
import { callHeaders } from "./call-headers.js";
import type { CheckedConfig } from "./config-check.js";
import { callThroughFetch, replacedFetch, textThroughFetch } from "./custom-fetch.js";
import { type BodyPlan, type EncodedInput, encodeInput } from "./encode-input.js";
import type { Attempt } from "./fetch-attempt.js";
import { FetchSource } from "./fetch-source.js";
import { NativeSource } from "./native-source.js";
import { toEnvelope } from "./outcome.js";
import { EventStream } from "./stream.js";

/** Requests of one import: where the service is, its credentials, its connections. */
export class HttpService {
  readonly native: NativeService;
  readonly config: CheckedConfig;
  readonly #plans: (BodyPlan | null)[] = [];

  constructor(imported: OpenApiImport | undefined, config: CheckedConfig, documentUrl?: string) {
    this.config = config;
    this.native = new native.HttpService(runtime, completions, settings(config), imported, documentUrl);
  }

  /** What is under way through a `fetch` of the user's. */
  readonly attempts = new Set<Attempt>();

  /** Ends what is in flight and lets connections go; a later call makes new ones. */
  close(): void {
    this.native.close();
    for (const attempt of this.attempts) attempt.abort();
  }

  /** The input of a call, encoded. */
  encode(index: number, input: unknown): EncodedInput | Promise<EncodedInput> {
    this.#plans[index] ??= planOf(this.native.bodyOf(index));
    return encodeInput(input, this.#plans[index] ?? undefined);
  }
}

function planOf(text: string | null): BodyPlan {
  if (text === null) return { kind: "other", property: "" };
  const space = text.indexOf(" ");
  return { kind: text.slice(0, space) as BodyPlan["kind"], property: text.slice(space + 1) };
}

/** Opens nothing: connections are made when they are first needed. */
export function openService(
  imported: OpenApiImport,
  config: CheckedConfig,
  documentUrl: string | undefined,
): HttpService {
  return new HttpService(imported, config, documentUrl);
}

/** What the native side is told about a configuration. */
function settings(config: CheckedConfig): string {
  const { baseUrl, headers, auth, timeout, maxResponseBytes, retry, sse, ca } = config;
  const hasCredentials = auth?.token !== undefined || auth?.username !== undefined;
  return JSON.stringify({
    baseUrl,
    headers,
    auth: hasCredentials ? auth : undefined,
    timeout,
    maxResponseBytes,
    retry: typeof retry === "number" ? { retries: retry } : retry,
    sse,
    ca: typeof ca === "string" ? [ca] : ca,
  });
}

/** The handler of the operation at this place of the import. */
export function createHandler(
  service: HttpService,
  index: number,
  stream: boolean,
): OperationHandler | SubscriptionHandler {
  if (!stream) return (input: unknown, context?: OperationContext) => call(service, index, input, context);
  const handler = (input: unknown, context?: OperationContext) =>
    new EventStream(() => openStream(service, index, input, context), context?.signal);
  // It returns an async generator; that it is none itself only makes it quicker to let go.
  Object.defineProperty(handler, Symbol.toStringTag, { value: "AsyncGeneratorFunction", configurable: true });
  return handler;
}

async function call(
  service: HttpService,
  index: number,
  input: unknown,
  context: OperationContext | undefined,
): Promise<ResponseEnvelope> {
  const signal = context?.signal;
  refuseIfAborted(signal);
  const headers = callHeaders(context);
  const pending = service.encode(index, input);
  const encoded = pending instanceof Promise ? await pending : pending;
  refuseIfAborted(signal);
  const fetch = replacedFetch(service.config);
  if (fetch !== undefined) {
    const { input: text, body, blobs } = encoded;
    const request = service.native.prepare(index, text, body, blobs, headers);
    return callThroughFetch(service, fetch, request, signal);
  }
  return callNatively(service, index, encoded, headers, signal);
}

function callNatively(
  { native: service }: HttpService,
  index: number,
  { input, body, blobs }: EncodedInput,
  headers: string | undefined,
  signal: AbortSignal | undefined,
): Promise<ResponseEnvelope> {
  return new Promise((resolve, reject) => {
    const id = nextId();
    let ignore = () => {};
    awaitArrival(id, service, (kind, about, result) => {
      ignore();
      try {
        resolve(toEnvelope(kind, about, result));
      } catch (error) {
        reject(error);
      }
    });
    try {
      ignore = onAbort(signal, () => service.cancel(id));
      service.call(id, index, input, body, blobs, headers, signal !== undefined);
    } catch (error) {
      ignore();
      forget(id);
      reject(error);
    }
  });
}

function openStream(
  service: HttpService,
  index: number,
  input: unknown,
  context: OperationContext | undefined,
): NativeSource | FetchSource {
  const headers = callHeaders(context);
  const encoded = service.encode(index, input);
  const fetch = replacedFetch(service.config);
  if (fetch === undefined) return new NativeSource(service.native, index, encoded, headers);
  return new FetchSource(fetch, service, index, encoded, headers);
}

/** What is fetched besides operations: a document. */
export interface TextOptions {
  accept: string;
  headers: Record<string, string>;
  /** Whether `config.auth` goes along. */
  withAuth: boolean;
  maxBytes: number;
  /** Milliseconds. */
  timeout: number;
}

/** Fetches a text the way operations are called. `url` is where it came from, after redirects. */
export async function fetchText(
  url: string,
  config: CheckedConfig,
  options: TextOptions,
): Promise<{ text: string; url: string }> {
  const { timeout, withAuth, maxBytes } = options;
  const service = new HttpService(undefined, { ...config, timeout, maxResponseBytes: maxBytes });
  const headers = JSON.stringify({ Accept: options.accept, ...options.headers });
  try {
    const fetch = replacedFetch(config);
    if (fetch !== undefined) {
      const request = service.native.prepareFetch(url, headers, withAuth);
      return await textThroughFetch(service, fetch, request);
    }
    return await new Promise((resolve, reject) => {
      const id = nextId();
      awaitArrival(id, service, (kind, about, text) => {
        try {
          const { data, meta } = toEnvelope(kind, about, text);
          resolve({ text: String(data ?? ""), url: (meta as unknown as { url: string }).url });
        } catch (error) {
          reject(error);
        }
      });
      try {
        service.native.fetchText(id, url, headers, withAuth, maxBytes, timeout);
      } catch (error) {
        forget(id);
        reject(error);
      }
    });
  } finally {
    service.close();
  }
}

function refuseIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  const message = "The call was aborted by its signal before it began";
  throw new CallError(InfrastructureErrorCode.ABORTED, message);
}
