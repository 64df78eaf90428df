// Values in messages, and values as JSON. Nothing here throws, except what it is given to throw.

/** `String(value)` for messages, also for values that refuse to become one. */
export function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return `[${typeof value} that cannot be converted to a string]`;
  }
}

/** The same for a name, which may come from anywhere: enough of it to recognise. */
export function nameOf(value: unknown): string {
  const text = textOf(value);
  return text.length > LONGEST_NAME ? `${shortened(text)} (${text.length} characters)` : text;
}

const LONGEST_NAME = 200;

/** Enough of a text for a log line, which must not grow with what a document contains. */
export function shortened(text: string): string {
  return text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME)}...` : text;
}

/** A name as a part of a JSON Pointer. */
export function pointerToken(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** What an error says about itself; anything else that was thrown as text. */
export function messageOf(error: unknown): string {
  return textOf(error instanceof Error ? error.message : error);
}

/** What kind of thing a value is, for messages that must not quote it. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** A short value as it is, anything else by its kind. */
export function quoted(value: unknown): string {
  const text = typeof value === "string" ? JSON.stringify(value) : textOf(value);
  return typeof value === "object" || typeof value === "function" || text.length > 60 ? kindOf(value) : text;
}

/** The value as JSON; `undefined` for what JSON leaves out. `refuse` makes the error for a value that cannot be
 * written: one that contains itself, or whose own code throws. */
export function jsonOf(value: unknown, refuse: (reason: string) => Error): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw refuse(
      error instanceof Error ? (error.message.split("\n", 1)[0] ?? "") : "it threw while it was read",
    );
  }
}

/** `1 source`, `2 sources`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
