// Events of the call protocol over a MessagePort: between worker threads, or between pages.

import { isFunction, isObject, refusal } from "../border/options.js";
import { kindOf } from "../border/text.js";
import { logger } from "../logging.js";
import { leavesProcess } from "./remote.js";
import { restored, wireText } from "./wire-value.js";

/**
 * A port: a `MessagePort` or a `Worker`, of Node or of the web.
 *
 * @example
 * ```ts
 * const ports: MessagePortLike[] = [port, worker];
 * ```
 */
export type MessagePortLike = ListenablePort | EmittingPort;

/** The port is an `EventTarget`, whose events hold the message in `data`. */
export interface ListenablePort {
  postMessage(message: unknown): void;
  addEventListener(type: "message", listener: (event: never) => void): void;
  removeEventListener(type: "message", listener: (event: never) => void): void;
  start?(): void;
}

/** The port is an `EventEmitter`, whose listeners get the message itself. A `Worker` of Node is one. */
export interface EmittingPort {
  postMessage(message: unknown): void;
  on(type: "message", listener: (message: unknown) => void): unknown;
  off(type: "message", listener: (message: unknown) => void): unknown;
}

/**
 * An `EventTarget` whose events also arrive at the other end of a port.
 *
 * @example
 * ```ts
 * const target: PortEventTarget = createPortEventTarget(port);
 * const callMap = new PendingRequestMap(target);
 * target.close();
 * ```
 */
export interface PortEventTarget extends EventTarget {
  /** Stops listening to the port. The port itself stays open: it belongs to whoever made it. */
  close(): void;
  /** `using target = createPortEventTarget(port)` closes it at the end of the block. */
  [Symbol.dispose](): void;
}

interface PortMessage {
  type: string;
  detail: unknown;
}

const log = logger("call");

/**
 * Carries the call protocol over a `MessagePort`: `new PendingRequestMap(createPortEventTarget(port))` on both sides.
 * As with any listener on a port, a thread that serves calls stays alive until the port is closed. Events are sent as
 * JSON, so both sides see the same values as over a network.
 *
 * @example
 * ```ts
 * const { port1, port2 } = new MessageChannel();
 * const here = new PendingRequestMap(createPortEventTarget(port1));
 * worker.postMessage(port2, [port2]); // and there: new PendingRequestMap(createPortEventTarget(port))
 * ```
 */
export function createPortEventTarget(port: MessagePortLike): PortEventTarget {
  if (!isPort(port)) {
    throw refusal(
      "createPortEventTarget: port",
      `must be a MessagePort or a Worker, with postMessage and addEventListener (or on), not ${kindOf(port)}`,
    );
  }
  return new PortTarget(port);
}

class PortTarget extends EventTarget implements PortEventTarget {
  readonly [leavesProcess] = true;
  readonly #port: MessagePortLike;
  readonly #stopListening: () => void;

  constructor(port: MessagePortLike) {
    super();
    this.#port = port;
    this.#stopListening = listenTo(port, (message) => this.#deliver(message));
  }

  /** Sends an event to the other side, and to listeners on this one. */
  override dispatchEvent(event: Event): boolean {
    const message: PortMessage = { type: event.type, detail: (event as CustomEvent).detail };
    this.#port.postMessage(wireText(message, `The event ${event.type} cannot be sent`));
    return super.dispatchEvent(event);
  }

  close(): void {
    this.#stopListening();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #deliver(text: unknown): void {
    const message = read(text);
    if (message === undefined) {
      log.warn("Dropped a message from a port: it is not an event of the call protocol", {});
      return;
    }
    super.dispatchEvent(new CustomEvent(message.type, { detail: restored(message.detail) }));
  }
}

function isPort(port: unknown): boolean {
  if (!isObject(port) || !isFunction(port.postMessage)) return false;
  return (
    (isFunction(port.addEventListener) && isFunction(port.removeEventListener)) ||
    (isFunction(port.on) && isFunction(port.off))
  );
}

/** Returns how to stop. */
function listenTo(port: MessagePortLike, deliver: (message: unknown) => void): () => void {
  if ("addEventListener" in port) {
    const listener = ({ data }: { data: unknown }) => deliver(data);
    port.addEventListener("message", listener);
    port.start?.();
    return () => port.removeEventListener("message", listener);
  }
  port.on("message", deliver);
  return () => port.off("message", deliver);
}

function read(text: unknown): PortMessage | undefined {
  if (typeof text !== "string") return undefined;
  try {
    const message: unknown = JSON.parse(text);
    if (typeof message !== "object" || message === null) return undefined;
    const { type, detail } = message as Partial<PortMessage>;
    return typeof type === "string" ? { type, detail } : undefined;
  } catch {
    return undefined;
  }
}
