// Calls through a `fetch` of the user's: `config.fetch`, or a global one that somebody replaced (a mock, an
// instrumentation).

import { answerOf } from "../border/inbox.js";
import type { ResponseEnvelope } from "../envelope.js";
import type { HttpMachine } from "../native-binding.js";
import { runtime } from "../runtime.js";
import type { CheckedConfig } from "./config-check.js";
import { type Fetch, FetchDriver } from "./fetch-driver.js";
import { toEnvelope } from "./outcome.js";
import type { HttpService } from "./service.js";

/** The `fetch` that was there when the package was loaded. */
const ORIGINAL: unknown = globalThis.fetch;

/** The `fetch` to use in the place of the native client, if there is one. */
export function replacedFetch(config: CheckedConfig): Fetch | undefined {
  if (config.fetch !== undefined) return config.fetch as unknown as Fetch;
  return replacedGlobalFetch();
}

function replacedGlobalFetch(): Fetch | undefined {
  const current: unknown = globalThis.fetch;
  return current === ORIGINAL || typeof current !== "function" ? undefined : (current as Fetch);
}

let wasReplaced = false;

/** Tells the native side when somebody replaces the global `fetch`, or puts it back. */
export function tellReplacedFetch(): void {
  const isReplaced = replacedGlobalFetch() !== undefined;
  if (isReplaced === wasReplaced) return;
  wasReplaced = isReplaced;
  runtime.setHostSending(isReplaced);
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
    return toEnvelope(answerOf(machine.outcome()));
  } finally {
    driver.cancel();
  }
}
