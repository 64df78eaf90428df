// The requests of one import, for whatever sends them.

import { numbers, PendingWork } from "../border/pending-work.js";
import type { HttpService as NativeService, OpenApiImport } from "../native-binding.js";
import { native, runtime } from "../runtime.js";
import type { CheckedConfig } from "./config-check.js";
import { type BodyPlan, type EncodedInput, encodeInput } from "./encode-input.js";
import type { FetchDriver } from "./fetch-driver.js";

/** Calls and streams of all imports: one mailbox, so that one wake-up hands out whatever has ended. */
export const pending = new PendingWork<number>(numbers());

/** Requests of one import: where the service is, its credentials, its connections. */
export class HttpService {
  readonly native: NativeService;
  readonly config: CheckedConfig;
  readonly #plans: (BodyPlan | null)[] = [];

  constructor(imported: OpenApiImport | undefined, config: CheckedConfig, documentUrl?: string) {
    this.config = config;
    this.native = new native.HttpService(runtime, pending.mailbox, settings(config), imported, documentUrl);
  }

  /** What messages call it. */
  get name(): string {
    return this.config.namespace;
  }

  get hasCredentials(): boolean {
    const { auth } = this.config;
    return auth?.token !== undefined || auth?.username !== undefined;
  }

  /** What is under way through a `fetch` of the user's. */
  readonly drivers = new Set<FetchDriver>();

  /** Ends what is in flight and lets connections go; a later call makes new ones. */
  close(): void {
    this.native.close();
    for (const driver of this.drivers) driver.cancel();
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

/** What the native side is told about a configuration. */
function settings(config: CheckedConfig): string {
  const { namespace, baseUrl, headers, auth, timeout, maxResponseBytes, retry, sse, ca } = config;
  const { hosts, allowPrivateAddresses } = config;
  const hasCredentials = auth?.token !== undefined || auth?.username !== undefined;
  return JSON.stringify({
    namespace,
    hosts,
    allowPrivateAddresses,
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
