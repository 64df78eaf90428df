// Events of the call protocol over a MessagePort: between worker threads, or between pages.

import type { CallError } from "../errors.js";
import { logger } from "../logging.js";
import { listenTo, type MessagePortLike, mustBePort } from "./port.js";
import { WireTarget } from "./wire-target.js";
import { restored, wireText } from "./wire-value.js";

export type { MessagePortLike } from "./port.js";

/**
 * An `EventTarget` for the two ends of a port: what is dispatched at one end arrives at the other end, and only there.
 *
 * @example
 * ```ts
 * const target: PortEventTarget = createPortEventTarget(port);
 * const callMap = new PendingRequestMap(target);
 * target.close();
 * ```
 */
export interface PortEventTarget extends EventTarget {
  /** Stops listening to the port. The port itself stays open: it belongs to its owner. */
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
  mustBePort(port, "createPortEventTarget: port");
  return new PortTarget(port);
}

export class PortTarget extends WireTarget implements PortEventTarget {
  protected readonly what = "the port";
  readonly #port: MessagePortLike;
  readonly #stopListening: () => void;

  constructor(port: MessagePortLike) {
    super();
    this.#port = port;
    this.#stopListening = listenTo(
      port,
      (message) => this.#deliver(message),
      () => this.lose(),
    );
  }

  protected override transmit(type: string, detail: unknown): void {
    const message: PortMessage = { type, detail };
    this.#port.postMessage(wireText(message, `The event ${type} cannot be sent`));
  }

  close(): void {
    this.#stopListening();
    this.lose();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Ends the connection: the port is closed, where ports can be, and calls that wait fail with the reason. */
  shut(reason: CallError): void {
    this.#stopListening();
    this.end(reason);
    // A `Worker` has no `close`; it ends when its owner wants it to.
    (this.#port as { close?(): void }).close?.();
  }

  #deliver(text: unknown): void {
    const message = read(text);
    if (message === undefined) {
      log.warn("Dropped a message from a port: it is not an event of the call protocol", {});
      return;
    }
    this.arrived(message.type, restored(message.detail));
  }
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
