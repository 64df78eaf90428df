// Ports of all runtimes: how to listen for messages and for the end.

import { isFunction, isObject, refusal } from "../interop/options.js";
import { kindOf } from "../interop/text.js";

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
  // biome-ignore lint/suspicious/noExplicitAny: the event types of Node and of the web have nothing in common but this
  addEventListener(type: "message", listener: (event: any) => void): void;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  removeEventListener(type: "message", listener: (event: any) => void): void;
  start?(): void;
  close?(): void;
}

/** The port is an `EventEmitter`, whose listeners get the message itself. A `Worker` of Node is one. */
export interface EmittingPort {
  postMessage(message: unknown): void;
  on(type: "message", listener: (message: unknown) => void): unknown;
  off(type: "message", listener: (message: unknown) => void): unknown;
}

export function mustBePort(port: unknown, name: string): void {
  if (isPort(port)) return;
  throw refusal(
    name,
    `must be a MessagePort or a Worker, with postMessage and addEventListener (or on), not ${kindOf(port)}`,
  );
}

function isPort(port: unknown): boolean {
  if (!isObject(port) || !isFunction(port.postMessage)) return false;
  return (
    (isFunction(port.addEventListener) && isFunction(port.removeEventListener)) ||
    (isFunction(port.on) && isFunction(port.off))
  );
}

/** Listens to a port. `closed` is called when the port is closed or the thread behind it has ended, where the runtime reports
 * (Node does, browsers increasingly do). Returns how to stop. */
export function listenTo(
  port: MessagePortLike,
  deliver: (message: unknown) => void,
  closed: () => void,
): () => void {
  if ("addEventListener" in port) {
    const listener = ({ data }: { data: unknown }) => deliver(data);
    const target = port as unknown as EventTarget;
    target.addEventListener("close", closed);
    port.addEventListener("message", listener);
    port.start?.();
    return () => {
      port.removeEventListener("message", listener);
      target.removeEventListener("close", closed);
    };
  }
  const worker = port as unknown as NodeJS.EventEmitter;
  worker.on("exit", closed);
  port.on("message", deliver);
  return () => {
    port.off("message", deliver);
    worker.off("exit", closed);
  };
}
