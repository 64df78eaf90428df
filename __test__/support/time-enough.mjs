// Time limits that something has to get ahead of: how long a busy machine takes for that is not what a test is about.

/** What is not enough on any machine: then something else is wrong. */
const MOST = 60_000;

/**
 * Tries with more and more time until it was enough.
 *
 * @param {(time: number) => unknown} attempt is given milliseconds, and says whether they were enough
 */
export async function withTimeEnough(attempt, first = 100) {
  for (let time = first; !(await attempt(time)); time *= 2) {
    if (time > MOST) throw new Error(`${time} ms were not enough for it`);
  }
}
