// What a transport to other processes has to say to the call protocol, and wants to know of it.

import type { CallError } from "../errors.js";
import type { CallerLine } from "../types.js";

/** On a target whose events leave the process: every error of a call over it says what a caller may conclude. */
export const leavesProcess: unique symbol = Symbol("@alkdev/operations: events leave the process");

/** A transport that loses its connection cannot know which answers it has missed. Whoever waits for one is told,
 * and does not wait for ever. */
export const onLoss: unique symbol = Symbol("@alkdev/operations: events may have been missed");

/** On a target that paces streams: told how many events of a stream were read, now and then. */
export const paces: unique symbol = Symbol("@alkdev/operations: streams are paced");

/** Whether a map waits for answers to a request. */
export const knows: unique symbol = Symbol("@alkdev/operations: a request is pending");

/** Whoever serves calls says so for as long as there are any. */
export const whileServing: unique symbol = Symbol("@alkdev/operations: calls are being served");

/** Whoever serves calls says so when the place of one is free again. */
export const placeIsFree: unique symbol = Symbol("@alkdev/operations: a place is free");

/** Whoever serves calls asks whether the result of one may be in a file. */
export const takesFiles: unique symbol = Symbol("@alkdev/operations: a result may be in a file");

/** The line to the client of a call, if there is one. */
export const lineOf: unique symbol = Symbol("@alkdev/operations: the line to the client of a call");

/** How a call came, if that is known. */
export const viaOf: unique symbol = Symbol("@alkdev/operations: how a call came");

/** What a handler can say to the client of its call. */
export interface Line {
  /** What the context of the call has more than others. */
  readonly context: CallerLine;
  /** Nobody is there any more. */
  close(): void;
}

/** Somebody who works on calls. */
export interface Server {
  /** Whether it works on this request. */
  serves(requestId: string): boolean;
  /** Events may have been missed, aborts among them. */
  lost(reason: CallError): void;
  /** Nothing can be sent any more: it ends everything, and those who wait are told why. */
  giveUp(reason: CallError): void;
}

/** A target with a connection that can be lost. */
export interface ConnectedTarget extends EventTarget {
  [paces]?: (requestId: string, read: number) => void;
  /** Registers a listener; the returned function removes it. */
  [onLoss](listener: (reason: CallError) => void): () => void;
  /** Registers somebody who works on calls; the returned function says that none are left. */
  [whileServing](server: Server): () => void;
}

export function isConnected(target: EventTarget): target is ConnectedTarget {
  return onLoss in target;
}
