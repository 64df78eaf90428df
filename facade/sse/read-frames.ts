import { native, runtime } from "../runtime.js";

/** How many UTF-16 units at the end are not read; and in turn data, type (null: `message`) and id (null: as before) of
 * each event. */
export function readFrames(text: string): [unread: number, parts: (string | null)[]] {
  return JSON.parse(native.parseSSEFrames(runtime, text)) as [number, (string | null)[]];
}
