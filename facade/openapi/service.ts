// The requests of one import, for whatever sends them.

import type { Inbox } from "../interop/inbox.js";
import { numbers, PendingWork } from "../interop/pending-work.js";
import { tlsTexts } from "../interop/tls.js";
import type { HttpService as NativeService, OpenApiImport } from "../native-binding.js";
import { adapterLimiter, type Limiter } from "../registry/limits.js";
import { Spills } from "../registry/spills.js";
import { native, runtime } from "../runtime.js";
import type { OperationContext } from "../types.js";
import type { HTTPOAuth } from "./config.js";
import { type CheckedConfig, oauthOf } from "./config-check.js";
import { type BodyPlan, type EncodedInput, encodeInput } from "./encode-input.js";
import type { FetchDriver } from "./fetch-driver.js";
import { credentials, outgoing } from "./outgoing.js";
import { tokenQuestions } from "./token-questions.js";

/** Calls and streams of all imports: one mailbox, so that one wake-up hands out whatever has ended. */
export const pending = new PendingWork<number>(numbers());

/** Requests of one import: where the service is, its credentials, its connections. */
export class HttpService {
  readonly native: NativeService;
  readonly config: CheckedConfig;
  /** Where large bodies go. */
  readonly spills: Spills | undefined;
  readonly limiter: Limiter | undefined;
  /** Where native code asks for what only the program has. */
  readonly #questions: Inbox | undefined;
  readonly #plans: (BodyPlan | null)[] = [];

  constructor(imported: OpenApiImport | undefined, config: CheckedConfig, documentUrl?: string) {
    this.config = config;
    this.spills = Spills.of(config.spill);
    this.limiter = adapterLimiter(this.name, config);
    const oauth = oauthOf(config.auth);
    this.#questions = oauth && tokenQuestions(oauth, () => this.native);
    this.native = new native.HttpService(
      runtime,
      pending.mailbox,
      settings(config, imported !== undefined),
      imported,
      documentUrl,
      this.#questions?.mailbox,
    );
  }

  /** What messages call it. */
  get name(): string {
    // Without one, the document says which namespaces there are.
    return this.config.namespace ?? "served";
  }

  get hasCredentials(): boolean {
    const { auth } = this.config;
    return typeof auth === "function" || oauthOf(auth) !== undefined || credentials(auth) !== null;
  }

  /** Requests in flight through the user's `fetch`. */
  readonly drivers = new Set<FetchDriver>();

  /** Ends what is in flight and lets connections go; a later call makes new ones. */
  close(): void {
    this.native.close();
    for (const driver of this.drivers) driver.cancel();
  }

  /** Asks the user to log in, by a code for another device if `isDevice`, and stores the tokens. */
  login(isDevice: boolean, signal?: AbortSignal): Promise<void> {
    return pending.run({
      owner: this,
      signal,
      start: (id) => this.native.login(id, isDevice),
      cancel: (id) => this.native.cancel(id),
    });
  }

  /** What a call sends, encoded. */
  encode(
    index: number,
    input: unknown,
    context: OperationContext | undefined,
    isServed: boolean,
  ): Soon<OutgoingCall> {
    this.#plans[index] ??= planOf(this.native.bodyOf(index));
    const headers = outgoing(this.config, context, isServed);
    const encoded = encodeInput(input, this.#plans[index] ?? undefined);
    if (headers instanceof Promise || encoded instanceof Promise) return both(encoded, headers);
    return { ...encoded, headers };
  }
}

/** One call, ready for native code. */
export interface OutgoingCall extends EncodedInput {
  readonly headers: string | undefined;
}

type Soon<T> = T | Promise<T>;

async function both(encoded: Soon<EncodedInput>, headers: Soon<string | undefined>): Promise<OutgoingCall> {
  const [input, sent] = await Promise.all([encoded, headers]);
  return { ...input, headers: sent };
}

function planOf(text: string | null): BodyPlan {
  if (text === null) return { kind: "other", property: "" };
  const space = text.indexOf(" ");
  return { kind: text.slice(0, space) as BodyPlan["kind"], property: text.slice(space + 1) };
}

/** A configuration for the native side. */
function settings(config: CheckedConfig, hasDocument: boolean): string {
  const {
    namespace = "served",
    baseUrl,
    headers,
    auth,
    timeout,
    maxResponseBytes,
    retry,
    sse,
    tls,
    ca,
  } = config;
  const { hosts, allowPrivateAddresses } = config;
  return JSON.stringify({
    namespace,
    hosts,
    allowPrivateAddresses,
    baseUrl,
    // Functions are called for each call.
    headers: typeof headers === "function" ? undefined : headers,
    auth: typeof auth === "function" ? undefined : (credentials(auth) ?? undefined),
    oauth: tokenSettings(oauthOf(auth), hasDocument),
    timeout,
    maxResponseBytes,
    retry: typeof retry === "number" ? { retries: retry } : retry,
    sse,
    ca: [tlsTexts(tls, "config.tls.")?.ca ?? ca ?? []].flat(),
  });
}

function tokenSettings(oauth: HTTPOAuth | undefined, hasDocument: boolean): object | undefined {
  if (oauth === undefined) return undefined;
  const { type: _, tokenStore, onAuthorize: __, ...plain } = oauth;
  // The document itself has to be there first.
  const isLocated = hasDocument || plain.tokenUrl !== undefined || plain.issuer !== undefined;
  return isLocated ? { ...plain, hasStore: tokenStore !== undefined } : undefined;
}
