// What a transport to other processes has to say to the call protocol, and wants to know of it.

import type { CallError } from "../errors.js";
import type { CallerLine } from "../types.js";

/** On a target whose events leave the process: every error of a call over it says what a caller may conclude. */
export const leavesProcess: unique symbol = Symbol("@alkdev/operations: events leave the process");

/** A transport that loses its connection cannot know which answers it has missed. Whoever waits for one is told,
 * and does not wait for ever. */
export const onLoss: unique symbol = Symbol("@alkdev/operations: events may have been missed");

/** On a target that drops malformed events itself: reports which pending requests they answered. */
export const onMalformed: unique symbol = Symbol("@alkdev/operations: an answer was malformed");

/** On a listener whose promises never reject, so that they need not be watched. */
export const neverRejects: unique symbol = Symbol("@alkdev/operations: never rejects");

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

/** Throws for an answer that the transport cannot send. */
export const assertSendable: unique symbol = Symbol("@alkdev/operations: an answer can be sent");

/** The line to the client of a call, if there is one. */
export const lineOf: unique symbol = Symbol("@alkdev/operations: the line to the client of a call");

/** Reports what a handler threw, if its message was not written for callers. */
export const internalError: unique symbol = Symbol("@alkdev/operations: a handler threw an exception");

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
  /** Ends the work on this request, if there is any. */
  abort(requestId: string): void;
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
  [onMalformed]?(listener: (requestId: string) => void): () => void;
  /** Registers somebody who works on calls; the returned function says that none are left. */
  [whileServing](server: Server): () => void;
}

export function isConnected(target: EventTarget): target is ConnectedTarget {
  return onLoss in target;
}
