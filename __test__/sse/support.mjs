// Streams and how they arrive.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parseSSEFrames } from "@alkdev/operations";

/** The table that `crates/operations-http/tests/it/sse/` runs too, as text and as bytes. */
export function cases() {
  const url = new URL("../../crates/operations-http/tests/cases/sse.json", import.meta.url);
  const list = JSON.parse(readFileSync(url, "utf8"));
  assert.ok(list.length > 50, "the table has been lost");
  return list.map(({ name, text, hex, events, remaining }) => {
    const bytes = hex === undefined ? new TextEncoder().encode(text) : Buffer.from(hex, "hex");
    return {
      name,
      bytes,
      text: [...decoded([bytes])].join(""),
      events: events.map(({ data, event = "message", id = "" }) => ({
        data,
        eventType: event,
        lastEventId: id,
      })),
      remaining,
    };
  });
}

/** Chunks of bytes as text. The decoder leaves a byte order mark in: that is ours to read. */
export function* decoded(chunks) {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  for (const chunk of chunks) yield decoder.decode(chunk, { stream: true });
  yield decoder.decode();
}

/** All that is found when these chunks arrive one after the other, and what is left. */
export function fed(chunks) {
  const found = [];
  let buffer = "";
  for (const chunk of chunks) {
    const { events, remaining } = parseSSEFrames(buffer + chunk);
    found.push(...events);
    buffer = remaining;
  }
  return { events: found, remaining: buffer };
}

/** The same data and types. Ids do not last from call to call: each is the right one, or missing. */
export function assertSameEvents(found, expected, how) {
  const contents = ({ data, eventType }) => ({ data, eventType });
  assert.deepEqual(found.map(contents), expected.map(contents), how);
  for (const [index, { lastEventId }] of found.entries()) {
    if (lastEventId !== "") assert.equal(lastEventId, expected[index].lastEventId, how);
  }
}
