// The results of a SUBSCRIPTION, one at a time.

import type { HTTPResponseMeta, ResponseEnvelope } from "../envelope.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { onAbort } from "../interop/abort.js";
import { DONE, EventIterator, type Step } from "../interop/event-iterator.js";
import { markAsSent, markNoted } from "../registry/response-marks.js";
import { type Remarks, withBigInts } from "./outcome.js";

/** Where a stream comes from: the native client, or the user's `fetch`. */
export interface StreamSource {
  /** A batch of members as one JSON text (see `crates/operations-http/src/machine/feed.rs`), or one of `TAKEN`. */
  take(): string | number;
  /** After `EVENTS` and `LINES`: what an envelope says about the response, as JSON. */
  head(): string;
  /** After `FAILED`. */
  failure(): unknown;
  /** After `WAIT`: calls back once, when there may be something to take. */
  wait(ready: () => void): void;
  /** Closes the connection at once. */
  close(): void;
}

/** What a source has instead of a batch. */
export const TAKEN = { WAIT: 0, END: 1, EVENTS: 2, LINES: 3, FAILED: 4 } as const;

/** Members of a stream, as JSON. */
type Batch = unknown[] | { members: unknown[]; remarks: Record<string, Partial<Remarks>> };

const EVENT_STREAM = "text/event-stream";

/** The events of a response, or its lines, as envelopes. */
export class EventStream extends EventIterator<ResponseEnvelope> {
  readonly #open: () => StreamSource;
  readonly #signal: AbortSignal | undefined;
  readonly #restore: ((envelope: ResponseEnvelope) => void) | undefined;
  #source: StreamSource | undefined;
  #ignoreSignal: (() => void) | undefined;

  /** The batch that is being handed out. */
  #batch: unknown[] = [];
  /** What is to be said about some members of it, by their numbers, and how many were taken. */
  #remarks: Readonly<Record<string, Partial<Remarks>>> | undefined;
  #taken = 0;
  #at = 0;
  #hasEvents = false;
  #meta: HTTPResponseMeta | undefined;
  #type = "message";
  #id = "";

  /** `restore` is done to each envelope. */
  constructor(
    open: () => StreamSource,
    signal: AbortSignal | undefined,
    restore?: (envelope: ResponseEnvelope) => void,
  ) {
    super();
    this.#restore = restore;
    this.#open = open;
    this.#signal = signal;
  }

  protected override take(): Step<ResponseEnvelope> | undefined {
    for (;;) {
      if (this.#at < this.#batch.length) return { done: false, value: this.#member() };
      const source = this.#source ?? this.#begin();
      const taken = source.take();
      if (typeof taken === "string") {
        this.#begun(JSON.parse(taken) as Batch);
        continue;
      }
      switch (taken) {
        case TAKEN.WAIT:
          return undefined;
        case TAKEN.EVENTS:
        case TAKEN.LINES:
          this.#hasEvents = taken === TAKEN.EVENTS;
          this.#meta = JSON.parse(source.head()) as HTTPResponseMeta;
          this.#type = "message";
          this.#id = "";
          break;
        case TAKEN.FAILED:
          throw source.failure();
        default:
          return DONE;
      }
    }
  }

  #begun(batch: Batch): void {
    const isPlain = Array.isArray(batch);
    this.#batch = isPlain ? batch : batch.members;
    this.#remarks = isPlain ? undefined : batch.remarks;
    this.#at = this.#taken = 0;
  }

  protected override wait(): void {
    this.#source?.wait(this.#onReady);
  }

  protected override close(): void {
    this.#ignoreSignal?.();
    this.#source?.close();
    this.#batch = [];
    this.#at = 0;
  }

  readonly #onReady = (): void => this.ready();

  #begin(): StreamSource {
    if (this.#signal?.aborted === true) throw aborted("none");
    this.#ignoreSignal = onAbort(this.#signal, () => this.fail(aborted("unknown")));
    this.#source = this.#open();
    return this.#source;
  }

  #member(): ResponseEnvelope {
    const envelope = this.#plainMember();
    this.#restore?.(envelope);
    const remarks = this.#remarks?.[this.#taken++];
    if (remarks === undefined) return envelope;
    envelope.data = remarks.isUndefined ? undefined : withBigInts(envelope.data, remarks.bigints);
    if (remarks.isAsSent) markAsSent(envelope.meta);
    if (remarks.notes !== undefined) {
      envelope.meta.notes = remarks.notes;
      markNoted(envelope.meta);
    }
    return envelope;
  }

  /** The next member of the batch. All members of a response share the object with its headers. */
  #plainMember(): ResponseEnvelope {
    const { statusCode, headers, contentType } = this.#meta as HTTPResponseMeta;
    const data = this.#batch[this.#at++];
    if (!this.#hasEvents) return { data, meta: { statusCode, headers, contentType, source: "http" } };
    const about = this.#batch[this.#at++];
    const sse: HTTPResponseMeta["sse"] = { event: this.#type, id: this.#id };
    if (typeof about === "string") {
      sse.id = this.#id = about;
    } else if (about !== 0) {
      const [type, id, retry] = about as [string, (string | null)?, number?];
      sse.event = this.#type = type;
      if (id != null) sse.id = this.#id = id;
      if (retry !== undefined) sse.retry = retry;
    }
    return { data, meta: { statusCode, headers, contentType: EVENT_STREAM, source: "http", sse } };
  }
}

function aborted(delivery: "none" | "unknown"): CallError {
  const details = { delivery, reason: "aborted" };
  return new CallError(InfrastructureErrorCode.ABORTED, "The stream was aborted by its signal", details);
}
