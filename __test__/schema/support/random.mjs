// Random numbers that can be had again: everything random in the difference tests comes from a seed, and
// the seed is printed.

/** A small generator (32 bits of state, the mixing step of splitmix). */
export class Random {
  #state;

  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** A fraction in [0, 1). */
  fraction() {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  }

  /** A whole number in [0, end). */
  below(end) {
    return Math.floor(this.fraction() * end);
  }

  /** A whole number between two, both included. */
  between(low, high) {
    return low + this.below(high - low + 1);
  }

  chance(probability) {
    return this.fraction() < probability;
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  /** One of `[weight, thing]` pairs. */
  weighted(pairs) {
    let left = this.fraction() * pairs.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, thing] of pairs) {
      left -= weight;
      if (left < 0) return thing;
    }
    return pairs.at(-1)[1];
  }

  /** Some of a list, in its order. */
  some(list, probability = 0.5) {
    return list.filter(() => this.chance(probability));
  }

  times(low, high, make) {
    return Array.from({ length: this.between(low, high) }, (_, index) => make(index));
  }

  /** A seed for a generator of its own: what one part draws does not change the next part. */
  seed() {
    return Math.floor(this.fraction() * 2 ** 32);
  }
}

/** The seed that was asked for, or a new one. */
export function chosenSeed(argument = process.env.OPERATIONS_SEED) {
  const wanted = Number(argument);
  return argument !== undefined && argument !== "" && Number.isInteger(wanted)
    ? wanted >>> 0
    : Math.floor(Math.random() * 2 ** 32);
}
