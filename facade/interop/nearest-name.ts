// The name that was probably meant. `crates/operations-core/src/nearest.rs` has the same rule, for requests to servers;
// `crates/operations-core/tests/cases/nearest.json` holds the two together.

/** Longer names are not compared: they come from somewhere else than a keyboard. */
const MAX_LENGTH = 200;

/** Of some names, the one that is nearest to one that is not among them, if any is near. One letter in four may differ, and three
 * at most; of shorter names one, if it only changes places or is doubled (`gti`, `gitt`). Where the names are few and well known,
 * `atLeast` so many may differ. */
export function nearestName(wanted: unknown, names: readonly string[], atLeast = 0): string | undefined {
  if (typeof wanted !== "string" || wanted === "" || wanted.length > MAX_LENGTH) return undefined;
  let best = Number.POSITIVE_INFINITY;
  let nearest: string | undefined;
  const plain = simplified(wanted);
  for (const name of names) {
    const mayDiffer = Math.max(atLeast, slips(wanted, name));
    const limit = Math.min(best, mayDiffer + 1);
    const distance = plain === simplified(name) ? 0 : distanceBelow(limit, wanted, name);
    if (distance < limit) {
      best = distance;
      nearest = name;
    }
  }
  return nearest;
}

/** How many letters may differ between two names that are meant to be one. */
function slips(wanted: string, name: string): number {
  const inFour = Math.min(3, Math.floor(Math.max(wanted.length, name.length) / 4));
  return inFour === 0 && lettersOf(wanted) === lettersOf(name) ? 1 : inFour;
}

const lettersOf = (name: string): string => Array.from(new Set(name)).sort().join("");

/** `Demo/greet`, `demo_greet` and `demo.greet` are one word to people. */
function simplified(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]+/g, ".");
}

/** How many characters have to be added, removed, replaced or swapped with their neighbour; `limit` if that many. */
function distanceBelow(limit: number, from: string, to: string): number {
  if (Math.abs(from.length - to.length) >= limit) return limit;
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const at = (list: number[], column: number) => list[column] ?? limit;
      const replaced = at(last, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1);
      let cost = Math.min(at(last, j) + 1, at(row, j - 1) + 1, replaced);
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]) {
        cost = Math.min(cost, at(beforeLast, j - 2) + 1);
      }
      row.push(cost);
    }
    if (Math.min(...row) >= limit) return limit;
    beforeLast = last;
    last = row;
  }
  return Math.min(limit, last[to.length] ?? limit);
}
