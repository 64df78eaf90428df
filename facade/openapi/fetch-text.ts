// A text that is fetched the way operations are called: a document.

import { awaitArrival, forget, nextId } from "../completions.js";
import type { CheckedConfig } from "./config-check.js";
import { replacedFetch } from "./custom-fetch.js";
import { FetchDriver } from "./fetch-driver.js";
import { toEnvelope } from "./outcome.js";
import { HttpService } from "./service.js";

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
  const fetch = replacedFetch(config);
  try {
    if (fetch !== undefined) {
      const machine = service.native.driveText(url, headers, withAuth);
      await new FetchDriver(service, fetch, machine).advance();
      const [kind, about, text] = machine.textOutcome();
      return fetched(kind as number, about as string, text);
    }
    return await new Promise((resolve, reject) => {
      const id = nextId();
      awaitArrival(id, service, (kind, about, text) => {
        try {
          resolve(fetched(kind, about, text));
        } catch (error) {
          reject(error);
        }
      });
      try {
        service.native.fetchText(id, url, headers, withAuth);
      } catch (error) {
        forget(id);
        reject(error);
      }
    });
  } finally {
    service.close();
  }
}

function fetched(kind: number, about: string, body: unknown): { text: string; url: string } {
  const { data, meta } = toEnvelope(kind, about, body);
  return { text: String(data ?? ""), url: (meta as unknown as { url: string }).url };
}
