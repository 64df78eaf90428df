// Everything that has running work is closed alike: once, and after that work, but not after more than so long.

import { aPatience, checkedOptions } from "./options.js";

/** How long running work may take to finish, in milliseconds, by default. */
const DRAIN_FOR = 10_000;

/** The `close` of something: `close` below is called once, and every call waits for it. */
export function closedOnce(
  close: (drain: number) => Promise<void>,
): (options?: { drain?: number }) => Promise<void> {
  let closing: Promise<void> | undefined;
  return async (options = {}) => {
    const { drain = DRAIN_FOR } = checkedOptions<{ drain?: number }>(
      options,
      { drain: aPatience },
      { prefix: "close: " },
    );
    closing ??= close(drain);
    await closing;
  };
}
