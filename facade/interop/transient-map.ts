// A map whose entries come and go, as those of calls do. V8's own keeps, in a table that it has outgrown, what was in it and a
// link to the next table: once the garbage collector has moved one of them to its old generation, everything that is put
// into the map later stays in memory until the next full collection, and is copied until then. A map that is made anew now
// and then has no such chain.

/** So many entries are added before the map is made anew; more, where many are in it. */
const ADDED = 128;

export class TransientMap<K, V> {
  #map = new Map<K, V>();
  #left = ADDED;

  get size(): number {
    return this.#map.size;
  }

  has(key: K): boolean {
    return this.#map.has(key);
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  set(key: K, value: V): void {
    if (--this.#left < 0) {
      this.#map = new Map(this.#map);
      this.#left = ADDED + 3 * this.#map.size;
    }
    this.#map.set(key, value);
  }

  delete(key: K): boolean {
    return this.#map.delete(key);
  }

  clear(): void {
    this.#map = new Map();
    this.#left = ADDED;
  }

  /** All that is in it now: it may change meanwhile. */
  entries(): [K, V][] {
    return [...this.#map];
  }

  values(): V[] {
    return [...this.#map.values()];
  }
}
