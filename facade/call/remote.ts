// Hooks between the call protocol and a transport to other processes.

import type { CallError } from "../errors.js";
import type { CallerLine } from "../types.js";

/** On a target whose events leave the process: every error of a call over it says what a caller may conclude. */
export const leavesProcess: unique symbol = Symbol("@alkdev/operations: events leave the process");

/** A transport that loses its connection cannot know which answers it has missed. Calls that wait for one fail. */
export const onLoss: unique symbol = Symbol("@alkdev/operations: events may have been missed");

/** On a target that drops malformed events itself: reports which pending requests they answered. */
export const onMalformed: unique symbol = Symbol("@alkdev/operations: an answer was malformed");

/** On a target that paces streams: called with how many events of a stream were read, now and then. */
export const paces: unique symbol = Symbol("@alkdev/operations: streams are paced");

/** Whether a map waits for answers to a request. */
export const knows: unique symbol = Symbol("@alkdev/operations: a request is pending");

/** A server of calls registers itself for as long as there are any. */
export const whileServing: unique symbol = Symbol("@alkdev/operations: calls are being served");

/** A server of calls reports that the permit of one is free again. */
export const permitReleased: unique symbol = Symbol("@alkdev/operations: a permit was released");

/** A server of calls asks whether the result of one may be in a file. */
export const takesFiles: unique symbol = Symbol("@alkdev/operations: a result may be in a file");

/** Throws for an answer that the transport cannot send. */
export const assertSendable: unique symbol = Symbol("@alkdev/operations: an answer can be sent");

/** The channel to the client of a call, if there is one. */
export const clientChannelOf: unique symbol = Symbol(
  "@alkdev/operations: the channel to the client of a call",
);

/** Reports what a handler threw, if its message was not written for callers. */
export const internalError: unique symbol = Symbol("@alkdev/operations: a handler threw an exception");

/** The token that the caller has shown, where a source needs it. */
export const callerTokenOf: unique symbol = Symbol("@alkdev/operations: the token of a caller");

/** How a call came, if that is known. */
export const viaOf: unique symbol = Symbol("@alkdev/operations: how a call came");

/** What a handler can say to the client of its call. */
export interface ClientChannel {
  /** What it adds to the context of the call. */
  readonly context: CallerLine;
  /** The call has ended, or its client is gone. */
  close(): void;
}

/** What works on calls. */
export interface Server {
  /** Whether it works on this request. */
  serves(requestId: string): boolean;
  /** Ends the work on this request, if there is any. */
  abort(requestId: string): void;
  /** Events may have been missed, aborts among them. */
  lost(reason: CallError): void;
  /** Nothing can be sent any more: it ends everything, for this reason. */
  giveUp(reason: CallError): void;
}

/** A target with a connection that can be lost. */
export interface ConnectedTarget extends EventTarget {
  [paces]?: (requestId: string, read: number) => void;
  /** Registers a listener; the returned function removes it. */
  [onLoss](listener: (reason: CallError) => void): () => void;
  [onMalformed]?(listener: (requestId: string) => void): () => void;
  /** Registers what works on calls; the returned function says that none are left. */
  [whileServing](server: Server): () => void;
}

export function isConnected(target: EventTarget): target is ConnectedTarget {
  return onLoss in target;
}
