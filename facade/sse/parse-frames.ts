import { invalid } from "../errors.js";
import { readFrames } from "./read-frames.js";

/**
 * A server-sent event, as `parseSSEFrames` finds it.
 *
 * @example
 * ```ts
 * const events: SSEEvent[] = parseSSEFrames("event: tick\ndata: 1\n\n").events;
 * events[0]; // { data: "1", eventType: "tick", lastEventId: "" }
 * ```
 */
export interface SSEEvent {
  /** The data lines, joined by line feeds. Always the text, also where it is JSON. */
  data: string;
  /** The type (default `message`). */
  eventType: string;
  /** The last id in the given text, up to this event. Empty if there was none. */
  lastEventId: string;
}

/**
 * Returns the complete events at the beginning of `buffer`, and the rest. Put the rest in front of the next chunk:
 *
 * ```ts
 * let buffer = "";
 * for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
 *   const { events, remaining } = parseSSEFrames(buffer + chunk);
 *   buffer = remaining;
 *   for (const { data } of events) show(JSON.parse(data));
 * }
 * ```
 *
 * The text is parsed by the WHATWG specification. A chunk may end anywhere, even between CR and LF or within a surrogate
 * pair: `remaining` is the whole block that is not complete. At the end of the stream, `remaining` is an incomplete event,
 * which the specification drops.
 *
 * `data` is the text of the event. Unlike `data` in the envelopes of a subscription, it is never parsed.
 *
 * Nothing is remembered between calls. If the text of the next call has no id, `lastEventId` is "", so keep the last id
 * yourself.
 *
 * @example
 * ```ts
 * let text = "";
 * for await (const chunk of chunks) {
 *   const { events, remaining } = parseSSEFrames(text + chunk);
 *   for (const { data, eventType } of events) console.log(eventType, data);
 *   text = remaining;
 * }
 * ```
 */
export function parseSSEFrames(buffer: string): { events: SSEEvent[]; remaining: string } {
  if (typeof buffer !== "string") {
    throw invalid(
      `parseSSEFrames reads text, not ${describe(buffer)}. Bytes are decoded with a TextDecoder first, ` +
        "with { stream: true }, since a chunk can end within a character",
    );
  }
  const [unread, parts] = readFrames(buffer);
  const events: SSEEvent[] = [];
  let lastEventId = "";
  for (let i = 0; i < parts.length; i += 3) {
    lastEventId = parts[i + 2] ?? lastEventId;
    events.push({ data: parts[i] ?? "", eventType: parts[i + 1] ?? "message", lastEventId });
  }
  // Cut from the original: a lone surrogate would not survive the way through Rust and back.
  return { events, remaining: buffer.slice(buffer.length - unread) };
}

function describe(value: unknown): string {
  if (value === null) return "null";
  if (typeof value !== "object") return typeof value;
  return Object.prototype.toString.call(value).slice(8, -1);
}
