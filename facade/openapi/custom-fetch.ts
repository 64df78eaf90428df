// Calls through the user's `fetch`: `config.fetch`, or a global one that was replaced (a mock, an
// instrumentation).

import { isDeepStrictEqual, types } from "node:util";
import type { ResponseEnvelope } from "../envelope.js";
import { answerOf } from "../interop/inbox.js";
import { assertPermitted } from "../interop/permission.js";
import { logger } from "../logging.js";
import type { HttpMachine } from "../native-binding.js";
import { runtime } from "../runtime.js";
import { type CheckedConfig, oauthOf } from "./config-check.js";
import { type Fetch, FetchDriver } from "./fetch-driver.js";
import { toEnvelope } from "./outcome.js";
import type { HttpService } from "./service.js";

/** The `fetch` to use instead of the native client, if there is one. Throws if there is not, and native code may not send
 * either. */
export function replacedFetch(config: CheckedConfig): Fetch | undefined {
  if (config.fetch !== undefined) return config.fetch as unknown as Fetch;
  if (config.transport === "fetch") return globalThis.fetch as Fetch;
  // Tokens are fetched by the native client, and go into its requests only.
  const isNative = config.transport === "native" || oauthOf(config.auth) !== undefined;
  const replaced = isNative ? undefined : replacedGlobalFetch();
  if (replaced === undefined) assertPermitted("net", "An HTTP request");
  else reportReplaced(replaced);
  return replaced;
}

let reported: unknown;

/** Says why calls are slower than they could be, once for each replacement. */
function reportReplaced(fetch: Fetch): void {
  const cause = isOwnFetch(fetch) ? lastDispatcher : fetch;
  if (cause === reported) return;
  reported = cause;
  const reason =
    cause === fetch
      ? "the global fetch was replaced"
      : `undici's global dispatcher was set (${(cause as Dispatcher).constructor?.name ?? "an object"})`;
  logger("openapi").info(
    `HTTP calls go through the global fetch, because ${reason}. This is several times slower than the native client. ` +
      'Set transport: "native" in the configuration to use the native client, or transport: "fetch" if fetch is intended',
    { reason },
  );
}

function replacedGlobalFetch(): Fetch | undefined {
  const current: unknown = globalThis.fetch;
  if (typeof current !== "function") return undefined;
  return isOwnFetch(current) && !hasUsersDispatcher() ? undefined : (current as Fetch);
}

let lastFetch: unknown;
let wasOwn = true;

/** Whether a `fetch` is the runtime's own. It may have been replaced before this module was loaded, so it is known by its
 * text: that of Node names undici, those of Bun and Deno are native or one line. A proxy has the text of a native function. */
function isOwnFetch(fetch: object): boolean {
  if (fetch !== lastFetch) {
    lastFetch = fetch;
    const text = Function.prototype.toString.call(fetch);
    wasOwn =
      !types.isProxy(fetch) &&
      (fetch as { name?: unknown }).name === "fetch" &&
      /\[native code\]|internal\/deps\/undici|lazyUndici|lazyFetch\(\)/.test(text);
  }
  return wasOwn;
}

const DISPATCHER = Symbol.for("undici.globalDispatcher.1");
let lastDispatcher: unknown;
let wasUsers = false;

/** Whether the program has called undici's `setGlobalDispatcher`: Node's own `fetch` follows it. */
function hasUsersDispatcher(): boolean {
  const current: unknown = (globalThis as { [DISPATCHER]?: unknown })[DISPATCHER];
  if (current !== lastDispatcher) {
    lastDispatcher = current;
    wasUsers = current != null && !isPlainAgent(current) && !isBuiltIn(current as Dispatcher);
  }
  return wasUsers;
}

interface Dispatcher {
  readonly constructor?: { readonly name?: string };
  dispatch?(options: object, handler: undefined): unknown;
}

/** Whether a dispatcher is what undici sets when it is imported: an `Agent` with its default options, which no user chose. Composed
 * interceptors are a `Proxy`, and options differ from those of a new agent. */
function isPlainAgent(dispatcher: object): boolean {
  if (types.isProxy(dispatcher) || Object.hasOwn(dispatcher, "dispatch")) return false;
  const Agent = dispatcher.constructor as (new () => object) | undefined;
  if (Agent?.name !== "Agent" || Object.getPrototypeOf(Agent)?.name !== "DispatcherBase") return false;
  try {
    const plain = new Agent();
    return ["options", "factory"].every((name) => {
      const key = symbolOf(plain, name);
      return key !== undefined && isDeepStrictEqual(Reflect.get(dispatcher, key), Reflect.get(plain, key));
    });
  } catch {
    return false;
  }
}

const symbolOf = (object: object, description: string): symbol | undefined =>
  Object.getOwnPropertySymbols(object).find((symbol) => symbol.description === description);

/** Node's copy of undici and the one from npm have the same classes. Where a call without a handler is refused tells
 * them apart. */
function isBuiltIn(dispatcher: Dispatcher): boolean {
  const name = dispatcher.constructor?.name;
  if (name !== "Agent" && name !== "EnvHttpProxyAgent") return false;
  try {
    dispatcher.dispatch?.({}, undefined);
  } catch (error) {
    return String((error as Error | undefined)?.stack).includes("node:internal/deps/undici");
  }
  return false;
}

let wasReplaced = false;

/** Notifies the native side when the global `fetch` is replaced or restored. */
export function reportReplacedFetch(): void {
  const isReplaced = isFetchReplaced();
  if (isReplaced === wasReplaced) return;
  wasReplaced = isReplaced;
  runtime.setHostSending(isReplaced);
}

/** A global `fetch` that throws when it is read counts as replaced. */
function isFetchReplaced(): boolean {
  try {
    return replacedGlobalFetch() !== undefined;
  } catch {
    return true;
  }
}

/** Makes a call. */
export async function callThroughFetch(
  service: HttpService,
  fetch: Fetch,
  machine: HttpMachine,
  signal: AbortSignal | undefined,
): Promise<ResponseEnvelope> {
  const driver = new FetchDriver(service, fetch, machine, signal);
  try {
    await driver.advance();
    const envelope = toEnvelope(answerOf(machine.outcome()));
    // A mock that gave its bytes as a whole finds the same object in the result.
    if (types.isAnyArrayBuffer(envelope.data) && driver.wholeBody !== undefined) {
      envelope.data = driver.wholeBody;
    }
    return envelope;
  } finally {
    driver.cancel();
  }
}
