// Without native code, the counterpart of `read-frames.ts`: server-sent events by the rules of the WHATWG specification. The native parser
// is held against this one by `__test__/browser/difference.test.mjs`.

const LINE_END = /\r\n|\n|\r/g;

/** How many UTF-16 units at the end are not read; and in turn data, type (null: `message`) and id (null: as before) of
 * each event. */
export function readFrames(text: string): [unread: number, parts: (string | null)[]] {
  const parts: (string | null)[] = [];
  let data: string[] = [];
  let eventType = "";
  let id: string | null = null;
  let read = 0;
  let start = text.startsWith("\ufeff") ? 1 : 0;
  for (const { 0: lineEnd, index } of text.matchAll(LINE_END)) {
    const line = text.slice(start, index);
    start = index + lineEnd.length;
    if (line === "") {
      // The end of a block. Without data it is not an event, but its id counts.
      if (data.length > 0) {
        parts.push(
          wellFormed(data.join("\n")),
          eventType === "" || eventType === "message" ? null : wellFormed(eventType),
          id,
        );
        id = null;
      }
      data = [];
      eventType = "";
      read = start;
      continue;
    }
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (field === "data") data.push(value);
    else if (field === "event") eventType = value;
    else if (field === "id" && !value.includes("\0")) id = wellFormed(value);
  }
  return [text.length - read, parts];
}

/** A lone surrogate is not text. */
function wellFormed(text: string): string {
  return text.replace(/[\ud800-\udfff]/gu, "\ufffd");
}
