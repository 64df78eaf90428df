// What the native side knows of operations, so that only changes are described (`crates/operations-serve/src/description_cache.rs`).

/** An operation: it is described again when one of `facts` has changed. */
export interface Describable {
  readonly key: object;
  readonly facts: readonly unknown[];
  readonly describe: () => string;
}

type Sent = Map<object, { readonly facts: readonly unknown[]; readonly position: number }>;

/** The last answer to one reader. */
export class DescriptionLog {
  #version = 0;
  #sent: Sent = new Map();

  /** All operations as JSON, those that the reader knows from the last answer as their positions in it. */
  answer(known: number | undefined, all: readonly Describable[]): string {
    const before: Sent = known === this.#version ? this.#sent : new Map();
    const sent: Sent = new Map();
    const texts = all.map(({ key, facts, describe }, position) => {
      sent.set(key, { facts, position });
      const last = before.get(key);
      return last?.facts.every((fact, at) => fact === facts[at]) ? String(last.position) : describe();
    });
    this.#sent = sent;
    this.#version += 1;
    return `{"version":${this.#version},"operations":[${texts.join(",")}]}`;
  }
}
