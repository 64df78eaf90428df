// What a connection knows of the workers on a Redis: what each serves, and how many of our calls each has.

import { isListOf, isString } from "../interop/options.js";

interface Worker {
  operations: ReadonlySet<string>;
  /** Our calls that it has. */
  calls: number;
}

export class Workers {
  readonly #workers = new Map<string, Worker>();

  /** A worker says what it serves. Nothing means that it has closed. */
  serves(worker: string, said: unknown): void {
    if (!isListOf(said, isString)) return;
    const operations = said as string[];
    const known = this.#workers.get(worker);
    if (operations.length === 0) this.gone(worker);
    else if (known === undefined) this.#workers.set(worker, { operations: new Set(operations), calls: 0 });
    else known.operations = new Set(operations);
  }

  gone(worker: string): void {
    this.#workers.delete(worker);
  }

  clear(): void {
    this.#workers.clear();
  }

  /** The worker that has the fewest of our calls; of several, the one that had its last call first. */
  choose(operationId: string, refused: ReadonlySet<string>): string | undefined {
    let best: [name: string, worker: Worker] | undefined;
    for (const each of this.#workers) {
      const [name, { operations, calls }] = each;
      if (!operations.has(operationId) || refused.has(name)) continue;
      if (best === undefined || calls < best[1].calls) best = each;
    }
    if (best === undefined) return undefined;
    const [name, worker] = best;
    // The last in the order of the map: with equal numbers, workers take turns.
    this.#workers.delete(name);
    this.#workers.set(name, worker);
    worker.calls += 1;
    return name;
  }

  /** It has one call less. */
  release(name: string): void {
    const worker = this.#workers.get(name);
    if (worker !== undefined && worker.calls > 0) worker.calls -= 1;
  }
}
