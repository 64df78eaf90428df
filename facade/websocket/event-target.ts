// Events of the call protocol over any WebSocket, of a page, of Node or of the package `ws`. No native code is used.

import { WireTarget } from "../call/wire-target.js";
import { restored, wireText } from "../call/wire-value.js";
import { isFunction, isObject, refusal } from "../interop/options.js";
import { kindOf } from "../interop/text.js";
import { logger } from "../logging.js";

/**
 * A WebSocket: of a browser, of Node, Bun or Deno, or of the package `ws`.
 *
 * @example
 * ```ts
 * const socket: WebSocketLike = new WebSocket("ws://127.0.0.1:8080/hub");
 * ```
 */
export interface WebSocketLike {
  readonly readyState: number;
  send(data: string): void;
  addEventListener(type: string, listener: (event: Event) => void): void;
  removeEventListener(type: string, listener: (event: Event) => void): void;
}

/**
 * An `EventTarget` for the two ends of a WebSocket: what is dispatched at one end arrives at the other end, and only there.
 *
 * @example
 * ```ts
 * const target: WebSocketEventTarget = createWebSocketEventTarget(new WebSocket("ws://127.0.0.1:8080/hub"));
 * const callMap = new PendingRequestMap(target);
 * await callMap.call("demo.greet", { name: "Ada" });
 * target.close();
 * ```
 */
export interface WebSocketEventTarget extends EventTarget {
  /** Stops listening to the socket. The socket itself stays open: it belongs to its owner. */
  close(): void;
  /** `using target = createWebSocketEventTarget(socket)` closes it at the end of the block. */
  [Symbol.dispose](): void;
}

const log = logger("call");
const CONNECTING = 0;
const OPEN = 1;
/** Events that may wait for the socket to open. */
const MOST_WAITING = 10_000;

/**
 * Bridges the call protocol across a WebSocket: `new PendingRequestMap(createWebSocketEventTarget(socket))` at either end, or
 * at one end of a connection to the `hub` door of `serve`. What is sent before the socket is open waits for it. When the socket
 * closes, calls that have no answer fail with `reason: "peer-lost"`; it is not opened again.
 *
 * @example
 * ```ts
 * const socket = new WebSocket("ws://127.0.0.1:8080/hub");
 * const callMap = new PendingRequestMap(createWebSocketEventTarget(socket));
 * const { data } = await callMap.call("demo.greet", { name: "Ada" });
 * ```
 */
export function createWebSocketEventTarget(socket: WebSocketLike): WebSocketEventTarget {
  if (!isSocket(socket)) {
    throw refusal(
      "createWebSocketEventTarget: socket",
      `must be a WebSocket, with send and addEventListener, not ${kindOf(socket)}`,
    );
  }
  return new SocketTarget(socket);
}

class SocketTarget extends WireTarget implements WebSocketEventTarget {
  protected readonly what = "the WebSocket";
  readonly #socket: WebSocketLike;
  #waiting: string[] = [];
  #hasOpened = false;
  readonly #onOpen = (): void => {
    this.#hasOpened = true;
    for (const text of this.#waiting.splice(0)) this.#socket.send(text);
  };
  readonly #onMessage = (event: Event): void => this.#deliver((event as Event & { data?: unknown }).data);
  readonly #onClose = (): void => this.lose();
  /** Without a listener, some sockets throw. An open socket says `close` next; one that did not open need not. */
  readonly #onError = (): void => {
    if (!this.#hasOpened) this.lose();
  };

  constructor(socket: WebSocketLike) {
    super();
    this.#socket = socket;
    this.#hasOpened = socket.readyState === OPEN;
    socket.addEventListener("open", this.#onOpen);
    socket.addEventListener("message", this.#onMessage);
    socket.addEventListener("close", this.#onClose);
    socket.addEventListener("error", this.#onError);
    if (socket.readyState > OPEN) this.lose();
  }

  protected override transmit(type: string, detail: unknown): void {
    const frame = isFrame(detail) ? detail : { type, id: "", payload: detail };
    const text = wireText(frame, `The event ${type} cannot be sent`) as string;
    if (this.#waiting.length >= MOST_WAITING) throw this.cannotSend(type);
    if (this.#socket.readyState === CONNECTING) this.#waiting.push(text);
    else this.#socket.send(text);
  }

  close(): void {
    const socket = this.#socket;
    socket.removeEventListener("open", this.#onOpen);
    socket.removeEventListener("message", this.#onMessage);
    socket.removeEventListener("close", this.#onClose);
    this.lose();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  protected override lose(): void {
    this.#waiting = [];
    if (this.#hasOpened) super.lose();
    else this.end(this.cannotSend("call.requested"));
  }

  #deliver(data: unknown): void {
    const frame = read(data);
    if (frame === undefined) {
      log.warn("Dropped a message from a WebSocket: it is not an event of the call protocol", {});
      return;
    }
    this.arrived(frame.type, restored(frame));
  }
}

interface Frame {
  type: string;
  payload: unknown;
}

function isFrame(detail: unknown): detail is Frame {
  return isObject(detail) && typeof detail.type === "string" && "payload" in detail;
}

function isSocket(socket: unknown): boolean {
  return (
    isObject(socket) &&
    isFunction(socket.send) &&
    isFunction(socket.addEventListener) &&
    isFunction(socket.removeEventListener)
  );
}

function read(data: unknown): Frame | undefined {
  if (typeof data !== "string") return undefined;
  try {
    const frame: unknown = JSON.parse(data);
    return isFrame(frame) ? frame : undefined;
  } catch {
    return undefined;
  }
}
