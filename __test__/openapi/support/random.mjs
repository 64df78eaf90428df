// Chance that can be repeated.

/** A seed from the environment, or a fresh one; tests print it. */
export const seedFromEnvironment = () =>
  Number(process.env.OPERATIONS_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** Numbers from 0 to 1 (mulberry32). */
export function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let word = Math.imul(state ^ (state >>> 15), state | 1);
    word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
    return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** So many members of a list, evenly spread. */
export function spread(list, count) {
  if (list.length <= count) return list;
  return Array.from({ length: count }, (_, index) => list[Math.floor((index * list.length) / count)]);
}
