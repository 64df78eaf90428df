// What connections have in common whose calls are made and served by native code: those over NATS and to a hub.

import { keepAlive, keepAliveDuring, letGo } from "../interop/keep-alive.js";
import { type ConnectionStatus, LinkListeners, type LinkReport, statusOf } from "../interop/link.js";
import type { PendingWork } from "../interop/pending-work.js";
import type { HubConnection } from "../native-binding.js";
import type { Via } from "../registry/call.js";
import type { Connection } from "../registry/connection-state.js";
import { refreshNativeState } from "../registry/native-handler.js";
import type { OperationRegistry } from "../registry/registry.js";
import { Answers, type AnswersOptions, type NativeServer } from "./answers.js";
import type { CallRequestedEvent } from "./events.js";
import { RemoteConnection } from "./remote-connection.js";
import { type NativeCaller, Requests } from "./requests.js";
import { restored } from "./wire-value.js";

/** How many calls are served at a time by default. */
export const CONCURRENCY = 256;

/** The native side of a connection. */
type NativeLink = NativeServer & Pick<HubConnection, "stats" | "status" | "close">;

export abstract class NativeConnection<
  Native extends NativeLink,
  Stats extends { overrunning: number },
  Message extends object,
> extends RemoteConnection {
  readonly callMap: Requests;
  readonly connection: Connection;
  #answers: Answers | undefined;
  readonly #pending: PendingWork<string>;
  readonly #listeners: LinkListeners;
  readonly on: LinkListeners["on"];

  constructor(
    readonly name: string,
    protected readonly native: Native,
    caller: NativeCaller,
    pending: PendingWork<string>,
    kind: "nats" | "hub",
    via?: Via,
  ) {
    super();
    this.#pending = pending;
    this.callMap = new Requests(caller, pending, kind === "hub" ? "websocket" : kind);
    this.connection = { kind, name, state: () => this.status().state };
    this.#listeners = new LinkListeners(JSON.parse(native.status()));
    this.on = this.#listeners.on;
    this.on("reconnected", () => this.imports.changed());
    pending.receiver = {
      changed: (what: string, news: LinkReport) => {
        if (what === "workers") this.imports.changed();
        else this.#listeners.changed(news);
      },
      asked: (_, request: CallRequestedEvent | Message, mayHoldBytes) => {
        if (!("operationId" in request)) {
          this.received(request as Message);
          return;
        }
        refreshNativeState();
        this.#answers?.requested(restored(request, mayHoldBytes), undefined, via);
      },
      aborted: (requestId: string) => this.#answers?.aborted(requestId),
      goOn: (requestId: string) => this.#answers?.mayGoOn(requestId),
    };
  }

  /** A message that is not about a call. */
  protected abstract received(message: Message): void;

  /** Serves a registry for the first time. `offer` announces it to the other side; if that fails, nothing is served. */
  protected async start<T>(
    registry: OperationRegistry,
    options: AnswersOptions,
    changed: () => void,
    offer: () => Promise<T>,
  ): Promise<T> {
    this.#answers = new Answers(this.native, registry, options);
    this.begin(registry, changed);
    // A server stays up until it is closed.
    keepAlive(this);
    try {
      return await offer();
    } catch (error) {
      this.unfollow();
      this.registry = undefined;
      this.#answers = undefined;
      letGo(this);
      throw error;
    }
  }

  readonly stats = (): Stats => ({
    ...JSON.parse(this.native.stats()),
    overrunning: this.#answers?.overrunning ?? 0,
  });

  readonly status = (): ConnectionStatus => statusOf(JSON.parse(this.native.status()));

  protected override async closeConnection(drain: number): Promise<void> {
    this.callMap.flush();
    this.#answers?.flush();
    try {
      await keepAliveDuring(this.native.close(drain));
      this.#pending.drain();
      this.imports.end();
      this.#listeners.notify("closed", this.status());
    } finally {
      this.unfollow();
      this.registry?.nativeMirror().flush();
      letGo(this);
    }
  }
}
