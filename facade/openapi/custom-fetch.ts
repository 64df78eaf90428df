// Requests through a `fetch` of the user's: `config.fetch`, or a global one that somebody replaced (a mock, an
// instrumentation). Building requests and reading responses stays with the native side.

import type { ResponseEnvelope } from "../envelope.js";
import type { PreparedRequest } from "../native-binding.js";
import type { CheckedConfig } from "./config-check.js";
import { Attempt, type Fetch } from "./fetch-attempt.js";
import { headerOf, headerPairs, readBody, textOfBody } from "./fetch-response.js";
import { toEnvelope, withTries } from "./outcome.js";
import type { HttpService } from "./service.js";

/** The `fetch` that was there when the package was loaded. */
const ORIGINAL: unknown = globalThis.fetch;

/** The `fetch` to use in the place of the native client, if there is one. */
export function replacedFetch(config: CheckedConfig): Fetch | undefined {
  if (config.fetch !== undefined) return config.fetch as unknown as Fetch;
  const current: unknown = globalThis.fetch;
  return current === ORIGINAL || typeof current !== "function" ? undefined : (current as Fetch);
}

/** Makes a call. */
export async function callThroughFetch(
  service: HttpService,
  fetch: Fetch,
  request: PreparedRequest,
  signal: AbortSignal | undefined,
): Promise<ResponseEnvelope> {
  const [kind, about, body] = await withRetries(service, fetch, request, signal);
  return toEnvelope(kind as number, about as string, body);
}

/** Fetches a text that is no operation. */
export async function textThroughFetch(
  service: HttpService,
  fetch: Fetch,
  request: PreparedRequest,
): Promise<{ text: string; url: string }> {
  const [kind, about, body] = await withRetries(service, fetch, request, undefined);
  const { data } = toEnvelope(kind as number, about as string, body);
  return { text: textOfBody(data, body), url: JSON.parse(request.head()).url };
}

/** Kind, text and body of the result. */
async function withRetries(
  service: HttpService,
  fetch: Fetch,
  request: PreparedRequest,
  signal: AbortSignal | undefined,
): Promise<unknown[]> {
  const attempt = new Attempt(service, request, signal);
  try {
    for (let tries = 1; ; tries++) {
      attempt.tries = tries;
      const { outcome, status, retryAfter } = await once(fetch, attempt);
      if (status >= 200 && status < 300) return outcome as unknown[];
      const pause = request.retryDelay(tries, status, retryAfter, Math.random());
      if (pause !== null) await attempt.pause(pause);
      else if (outcome === undefined) attempt.fail("network", attempt.reason);
      else return [outcome[0], withTries(outcome[1] as string, tries), outcome[2]];
    }
  } finally {
    attempt.end();
  }
}

interface Once {
  /** Nothing when the request failed on its way. */
  outcome: unknown[] | undefined;
  status: number;
  retryAfter: string | undefined;
}

async function once(fetch: Fetch, attempt: Attempt): Promise<Once> {
  const { request } = attempt;
  const response = await attempt.exchange(fetch);
  if (response === undefined) return { outcome: undefined, status: 0, retryAfter: undefined };
  const pairs = headerPairs(response);
  const limit = request.maxResponseBytes();
  const bytes = await attempt.until(readBody(response, limit));
  if (bytes === undefined) return { outcome: undefined, status: 0, retryAfter: undefined };
  if (bytes === "too large") attempt.fail("size", "");
  const outcome = request.decode(
    response.status,
    response.statusText ?? "",
    JSON.stringify(pairs),
    bytes as Uint8Array,
  );
  return { outcome, status: response.status, retryAfter: headerOf(response, "retry-after") };
}
