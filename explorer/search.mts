// Operations, found as the user types. No DOM: tested without a browser.

/** An operation in a list. */
export interface Listed {
  readonly namespace: string;
  readonly name: string;
  readonly type: "query" | "mutation" | "subscription";
  readonly title: string | null;
  readonly description: string;
  readonly tags: readonly string[];
  readonly deprecated: boolean;
}

interface Indexed {
  readonly operation: Listed;
  readonly id: string;
  readonly name: string;
  /** The words of the name: `listOpenIssues` has three. */
  readonly words: readonly string[];
  readonly title: string;
  readonly tags: string;
  readonly description: string;
}

/** A list that can be searched. */
export class SearchIndex {
  readonly #all: readonly Indexed[];

  constructor(operations: readonly Listed[]) {
    this.#all = operations.map((operation) => ({
      operation,
      id: `${operation.namespace}.${operation.name}`.toLowerCase(),
      name: operation.name.toLowerCase(),
      words: wordsOf(`${operation.namespace} ${operation.name}`),
      title: (operation.title ?? "").toLowerCase(),
      tags: operation.tags.join(" ").toLowerCase(),
      description: operation.description.toLowerCase(),
    }));
  }

  /** Those that have every word of the query somewhere, the best first. Without a query, all as they are. */
  search(query: string, namespace = ""): Listed[] {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const inside = this.#all.filter(({ operation }) => namespace === "" || operation.namespace === namespace);
    if (words.length === 0) return inside.map(({ operation }) => operation);
    return inside
      .map((each, place) => ({ each, place, score: scoreOf(each, words) }))
      .filter(({ score }) => score > 0)
      .sort((one, other) => other.score - one.score || one.place - other.place)
      .map(({ each }) => each.operation);
  }
}

function wordsOf(text: string): string[] {
  return text
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
}

function scoreOf(each: Indexed, words: readonly string[]): number {
  let sum = each.operation.deprecated ? -1 : 0;
  for (const word of words) {
    const score = scoreOfWord(each, word);
    if (score === 0) return 0;
    sum += score;
  }
  return sum;
}

function scoreOfWord({ id, name, words, title, tags, description }: Indexed, word: string): number {
  if (id === word || name === word) return 100;
  if (name.startsWith(word)) return 60;
  if (words.includes(word)) return 50;
  if (words.some((each) => each.startsWith(word))) return 40;
  if (id.includes(word)) return 30;
  if (title.includes(word)) return 20;
  if (tags.includes(word)) return 15;
  if (description.includes(word)) return 10;
  return 0;
}
