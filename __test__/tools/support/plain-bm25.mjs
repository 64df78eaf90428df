// BM25 as in the textbook: all text of an operation is one bag of words. What the search is compared with.

const wordsOf = (text) =>
  text
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? [];

function textOf({ name, title, description, tags, inputSchema }) {
  const properties = Object.entries(inputSchema.properties ?? {});
  const parameters = properties.map(([key, { description: text }]) => `${key} ${text ?? ""}`);
  return [name, title ?? "", description, ...(tags ?? []), ...parameters].join(" ");
}

export class PlainBM25 {
  #documents;
  #having = new Map();
  #average;

  constructor(operations) {
    this.#documents = operations.map((operation) => {
      const words = wordsOf(textOf(operation));
      const counts = new Map();
      for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
      for (const word of counts.keys()) this.#having.set(word, (this.#having.get(word) ?? 0) + 1);
      return { operation, counts, length: words.length };
    });
    this.#average = this.#documents.reduce((sum, { length }) => sum + length, 0) / this.#documents.length;
  }

  search(question, limit, { k1 = 1.2, b = 0.75 } = {}) {
    const all = this.#documents.length;
    const words = new Set(wordsOf(question));
    const scored = this.#documents.map(({ operation, counts, length }) => {
      let score = 0;
      for (const word of words) {
        const count = counts.get(word);
        if (count === undefined) continue;
        const having = this.#having.get(word);
        const rarity = Math.log(1 + (all - having + 0.5) / (having + 0.5));
        score += (rarity * count * (k1 + 1)) / (count + k1 * (1 - b + (b * length) / this.#average));
      }
      return { operation, score };
    });
    return scored
      .filter(({ score }) => score > 0)
      .sort((one, other) => other.score - one.score)
      .slice(0, limit)
      .map(({ operation }) => operation);
  }
}
