// What native code has for JavaScript (`crates/operations-core/src/mailbox.rs`). It wakes us once, and we take all that is
// there in one crossing: a native promise for each result would cost half as much again as a whole call.

import { CallError, markInternal } from "../errors.js";
import { logger } from "../logging.js";
import { native } from "../runtime.js";
import { inOwnContext, onNextTurn, withoutContext } from "./host.js";
import { messageOf } from "./text.js";

/** What is taken at a time: JSON; in an array, if something goes beside it. */
export type Batch = string | [text: string, ...attachments: unknown[]];

/** The kinds of items, in the order of their numbers on the native side. */
const KINDS = [
  "done",
  "failed",
  "event",
  "ended",
  "ready",
  "asked",
  "aborted",
  "goOn",
  "lost",
  "changed",
] as const;

// biome-ignore lint/suspicious/noExplicitAny: JSON from the native side, in the shape that the receiver declares
type Json = any;
type Item = [kind: number, to: Json, value?: Json, attached?: 1 | 2];

/** What receives messages. `to` is whom one is for: the number or the name that the native side was given. `mayHoldBytes` says
 * whether binary data may be marked in the value (`facade/call/wire-value.ts`). */
export interface Receiver {
  /** Work has ended. */
  done?(to: Json, value: Json, mayHoldBytes: boolean): void;
  failed?(to: Json, error: CallError): void;
  /** Something on the way: an event of a stream, a message, a sign of progress. */
  event?(to: Json, value: Json, mayHoldBytes: boolean): void;
  /** A stream has ended. */
  ended?(to: Json): void;
  /** There is something to take elsewhere. */
  ready?(to: Json): void;
  /** A request of the native side. */
  asked?(to: Json, value: Json, mayHoldBytes: boolean): void;
  /** The request was aborted. */
  aborted?(to: Json): void;
  /** What was paused may go on. */
  goOn?(to: Json): void;
  /** Something may have been missed. */
  lost?(to: Json, reason: Json): void;
  /** The newest state of something. */
  changed?(what: Json, value: Json): void;
}

const log = logger("native");

/** A mailbox and its reader. The native side holds it weakly: an inbox whose owner is gone is gone too. */
export class Inbox {
  /** Passed to the native objects that send messages. */
  readonly mailbox;
  readonly #receiver: Receiver;
  readonly #drain = (): void => this.#take();

  constructor(receiver: Receiver) {
    this.#receiver = receiver;
    const inbox = new WeakRef(this);
    this.mailbox = new native.Mailbox(() => {
      const living = inbox.deref();
      if (living !== undefined) living.#take();
    });
  }

  /** Takes everything, however much it is. */
  drain(): void {
    for (let batch = this.mailbox.take(); batch !== null; batch = this.mailbox.take()) {
      withoutContext(deliver, batch, this.#receiver);
    }
  }

  /** Takes what is there. Of much, a part at a time: the event loop has other work too. */
  #take(): void {
    const batch = this.mailbox.take();
    if (batch !== null && withoutContext(deliver, batch, this.#receiver)) onNextTurn(this.#drain);
  }
}

/** Hands the items of a batch out. Says whether there is more to take. It does not throw: it is called by the event loop
 * itself. */
function deliver(batch: Batch, receiver: Receiver): boolean {
  const items = itemsOf(batch);
  const mayHoldBytes = typeof batch !== "string" || isMarkedIn(batch);
  let attachments = 0;
  for (let i = 1; i < items.length; i++) {
    const item = items[i] as Item;
    try {
      const value = contentOf(item, item.length === 4 ? batch[++attachments] : undefined);
      const kind = KINDS[item[0]] as (typeof KINDS)[number];
      if (kind === "asked") inOwnContext(() => receiver.asked?.(item[1], value, mayHoldBytes));
      else receiver[kind]?.(item[1], value, mayHoldBytes);
    } catch (error) {
      log.error(`Failed to handle a message from native code: ${messageOf(error)}`, {});
    }
  }
  return items[0] === 1;
}

/** Whether a text may hold the mark of binary data, however its letters are written. Looking for it in the text takes a
 * fraction of the time of looking into every object. */
function isMarkedIn(text: string): boolean {
  return text.includes("$bytes") || text.includes("\\u");
}

/** A batch that is no JSON would be a defect of ours, and not the event loop's business. */
function itemsOf(batch: Batch): [more: number, ...items: Item[]] {
  try {
    return JSON.parse(textOf(batch));
  } catch (error) {
    log.error(`A message from the native side is not JSON: ${messageOf(error)}`, {});
    return [1];
  }
}

/** The value of a batch of one, as native functions return it. Throws if that is an error. */
export function answerOf(batch: Batch): Json {
  const value = contentIn(batch);
  if (value instanceof CallError) throw value;
  return value;
}

/** The same, where an error is a value like any other. */
export function contentIn(batch: Batch): Json {
  const [, item] = JSON.parse(textOf(batch)) as [number, Item];
  return contentOf(item, batch[1]);
}

function textOf(batch: Batch): string {
  return typeof batch === "string" ? batch : batch[0];
}

function contentOf(item: Item, attachment: unknown): Json {
  const value = item[2];
  const isAttached = item.length === 4;
  if (KINDS[item[0]] === "failed") {
    const { code, message, details } = value;
    if (isAttached && typeof details === "object" && details !== null) details.body = attachment;
    const error = new CallError(code, message, details);
    return value.isInternal === true ? markInternal(error) : error;
  }
  if (isAttached) value.data = item[3] === 2 ? JSON.parse(attachment as string) : attachment;
  return value;
}
