// Words and numbers for people. No DOM: tested without a browser.

/**
 * A name as it is, with what cannot be seen made visible: characters that reverse a text, or that have no width, would let one
 * name look like another.
 */
export function visible(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
    /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The beginning of a text, with a sign that there is more. */
export function beginning(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).trimEnd()}…`;
}

/** A text in one line. */
export const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();

export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function durationText(milliseconds: number): string {
  if (milliseconds < 1) return "under 1 ms";
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  return `${(milliseconds / 1000).toFixed(milliseconds < 10_000 ? 2 : 1)} s`;
}

const counts = new Intl.NumberFormat("en");
export const countText = (count: number): string => counts.format(count);

/** "1 event", "2 events". */
export const counted = (count: number, word: string): string =>
  `${countText(count)} ${word}${count === 1 ? "" : "s"}`;

/** A value in a few characters. */
export function shortValue(value: unknown, most = 80): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return beginning(oneLine(text ?? ""), most);
}
