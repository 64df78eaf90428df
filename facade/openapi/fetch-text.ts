// A text that is fetched the way operations are called: a document.

import { answerOf } from "../interop/inbox.js";
import type { CheckedConfig } from "./config-check.js";
import { replacedFetch } from "./custom-fetch.js";
import { FetchDriver } from "./fetch-driver.js";
import { HttpService, pending } from "./service.js";

/** What is fetched besides operations: a document. */
interface TextOptions {
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
): Promise<{ data: string; url: string }> {
  const { timeout, withAuth, maxBytes } = options;
  const service = new HttpService(undefined, { ...config, timeout, maxResponseBytes: maxBytes });
  const headers = JSON.stringify({ Accept: options.accept, ...options.headers });
  const fetch = replacedFetch(config);
  try {
    if (fetch === undefined) {
      const start = (id: number) => service.native.fetchText(id, url, headers, withAuth);
      return await pending.run({ owner: service, start });
    }
    const machine = service.native.driveText(url, headers, withAuth);
    await new FetchDriver(service, fetch, machine).advance();
    return answerOf(machine.textOutcome());
  } finally {
    service.close();
  }
}
