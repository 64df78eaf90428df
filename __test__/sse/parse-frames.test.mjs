// parseSSEFrames: the grammar, and that nothing is lost wherever the chunks are cut.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError, parseSSEFrames } from "@alkdev/operations";
import * as fromOpenAPI from "@alkdev/operations/from-openapi";
import { assertSameEvents, cases, decoded, fed } from "./support.mjs";

describe("parseSSEFrames: the grammar", () => {
  for (const { name, text, bytes, events, remaining } of cases()) {
    it(`parseSSEFrames follows the grammar: ${name}`, () => {
      const whole = parseSSEFrames(text);
      assert.deepEqual(whole.events, events);
      if (remaining !== undefined) assert.equal(whole.remaining, remaining);

      assertSameEvents(fed(text.split("")).events, events, "one unit at a time");
      assertSameEvents(fed(decoded([...bytes].map((byte) => Uint8Array.of(byte)))).events, events, "bytes");
      for (let at = 0; at <= text.length; at++) {
        const cut = fed([text.slice(0, at), text.slice(at)]);
        assertSameEvents(cut.events, events, `cut at ${at}`);
        if (remaining !== undefined) assert.equal(cut.remaining, remaining, `cut at ${at}`);
      }
      for (let at = 0; at <= bytes.length; at++) {
        const cut = fed(decoded([bytes.subarray(0, at), bytes.subarray(at)]));
        assertSameEvents(cut.events, events, `cut at byte ${at}`);
      }
    });
  }
});

describe("parseSSEFrames", () => {
  it("parseSSEFrames is the same function in both entry points", () => {
    assert.equal(fromOpenAPI.parseSSEFrames, parseSSEFrames);
  });

  it("parseSSEFrames returns plain objects with exactly the documented members", () => {
    assert.deepStrictEqual(parseSSEFrames("event: x\nid: 7\nretry: 5\ndata: 1\n\ndata: {}\n\nda"), {
      events: [
        { data: "1", eventType: "x", lastEventId: "7" },
        { data: "{}", eventType: "message", lastEventId: "7" },
      ],
      remaining: "da",
    });
  });

  it("parseSSEFrames carries the id over within a call and not beyond", () => {
    const { events } = parseSSEFrames("id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n");
    assert.deepEqual(
      events.map(({ lastEventId }) => lastEventId),
      ["1", "1", ""],
    );
    assert.equal(parseSSEFrames("data: d\n\n").events[0].lastEventId, "");
  });

  it("parseSSEFrames does not lose a lone surrogate at the end of a text", () => {
    const first = parseSSEFrames("data: \ud83d");
    assert.equal(first.remaining, "data: \ud83d");
    assert.equal(parseSSEFrames(`${first.remaining}\ude00\n\n`).events[0].data, "😀");
    // Positions are those of JavaScript, also behind characters of other lengths.
    assert.equal(parseSSEFrames("data: ä€😀\n\ndata: ä€😀\ud83d").remaining, "data: ä€😀\ud83d");
  });

  it("parseSSEFrames reads invalid UTF-16 as U+FFFD", () => {
    assert.equal(parseSSEFrames("data: a\ud83db\n\n").events[0].data, "a\ufffdb");
  });

  it("parseSSEFrames drops a byte order mark at the beginning of a later text, too, and loses no data", () => {
    const { events } = fed(["data: a\n\n", "\ufeffdata: b\n\n"]);
    assert.deepEqual(
      events.map(({ data }) => data),
      ["a", "b"],
    );
  });

  it("parseSSEFrames returns names such as __proto__ as data", () => {
    const { events } = parseSSEFrames("event: __proto__\nid: constructor\ndata: null\n\n");
    assert.deepEqual(events, [{ data: "null", eventType: "__proto__", lastEventId: "constructor" }]);
  });

  it("parseSSEFrames handles a long id under many events", () => {
    const id = "x".repeat(1_000_000);
    const { events } = parseSSEFrames(`id: ${id}\n\n${"data\n\n".repeat(20_000)}`);
    assert.equal(events.length, 20_000);
    assert.equal(events.at(-1).lastEventId, id);
  });

  it("parseSSEFrames refuses what is no text, with what to do", () => {
    for (const [value, called] of [
      [undefined, "undefined"],
      [null, "null"],
      [new Uint8Array(2), "Uint8Array"],
      [7, "number"],
    ]) {
      assert.throws(
        () => parseSSEFrames(value),
        (error) =>
          error instanceof CallError &&
          error.code === "VALIDATION_ERROR" &&
          error.message.includes(`not ${called}.`) &&
          error.message.includes("TextDecoder"),
      );
    }
  });
});
