// Random streams, randomly cut, compared with eventsource-parser. OPERATIONS_SEED repeats a run.

import assert from "node:assert/strict";
import { it } from "node:test";
import { parseSSEFrames } from "@alkdev/operations";
import { createParser } from "eventsource-parser";
import { chosenSeed, Random } from "../schema/support/random.mjs";
import { assertSameEvents, fed } from "./support.mjs";

const STREAMS = 5000;
// No byte order mark: eventsource-parser looks for its bytes in the decoded text.
const NAMES = ["data", "data", "data", "event", "id", "retry", "foo", "", " data", "datas", "Data"];
const COLONS = [":", ": ", ": ", ":  ", "", "::"];
const VALUES = ["", "a", "1", "x y", '{"a":[1,2]}', "ä€😀", "a:b", "\0", "\u2028", "12"];
const LINE_ENDS = ["\n", "\n", "\r", "\r\n"];

function randomStream(random) {
  const lines = random.times(0, 40, () => {
    const line = random.chance(0.35) ? "" : random.pick(NAMES) + random.pick(COLONS) + random.pick(VALUES);
    return line + random.pick(LINE_ENDS);
  });
  // A comment at the end: eventsource-parser withholds an event whose last line end is a CR.
  return `${lines.join("")}:\n`;
}

function* randomChunks(random, text) {
  for (let at = 0; at < text.length; ) {
    const end = at + random.between(1, 12);
    yield text.slice(at, end);
    at = end;
  }
}

/** The opinion of eventsource-parser, which leaves it to its caller to keep the id. */
function reference(text) {
  const events = [];
  createParser({ onEvent: (event) => events.push(event) }).feed(text);
  return events.map(({ data, event = "message", id }) => ({ data, eventType: event, id }));
}

it("random streams have the events that eventsource-parser finds", () => {
  const seed = chosenSeed();
  const random = new Random(seed);
  let found = 0;
  for (let i = 0; i < STREAMS; i++) {
    const text = randomStream(random);
    const how = `OPERATIONS_SEED=${seed}, ${JSON.stringify(text)}`;
    const expected = reference(text);
    const { events } = parseSSEFrames(text);
    assert.deepEqual(
      events.map(({ data, eventType }) => ({ data, eventType })),
      expected.map(({ data, eventType }) => ({ data, eventType })),
      how,
    );
    for (const [index, { id }] of expected.entries()) {
      if (id !== undefined) assert.equal(events[index].lastEventId, id, how);
    }
    assertSameEvents(fed(randomChunks(random, text)).events, events, how);
    found += events.length;
  }
  assert.ok(found > STREAMS, `${found} events: the streams are dull`);
});
