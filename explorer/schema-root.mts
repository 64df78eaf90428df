// The document that a schema is in: where its references lead.

export type SchemaObject = { readonly [keyword: string]: unknown };
export type Schema = boolean | SchemaObject;

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Parts of a document that are looked at for names. A document with more has references that lead nowhere. */
const MOST_PARTS = 50_000;
/** Schemas that are looked at to answer one question: they can lead to each other in circles, and in more ways than one. */
const MOST_STEPS = 2000;
const DEEPEST_QUESTION = 24;

/** A document. */
export class Root {
  readonly #document: unknown;
  #named: Map<string, unknown> | undefined;
  #steps = 0;
  #depth = 0;

  constructor(document: unknown) {
    this.#document = document;
  }

  /** What a reference leads to. */
  find(reference: string): Schema | undefined {
    const at = reference.indexOf("#");
    const base = at === -1 ? reference : reference.slice(0, at);
    const fragment = at === -1 ? "" : reference.slice(at + 1);
    const start = base === "" ? this.#document : this.#names().get(base);
    const found =
      fragment === "" || fragment.startsWith("/")
        ? inside(start, fragment)
        : this.#names().get(`#${fragment}`);
    return typeof found === "boolean" || isRecord(found) ? found : undefined;
  }

  /** Works on a question, which may lead to others; nothing where it leads to too many, one inside the other. */
  within<T>(work: () => T): T | undefined {
    if (this.#depth === 0) this.#steps = 0;
    if (this.#depth > DEEPEST_QUESTION) return undefined;
    this.#depth += 1;
    try {
      return work();
    } finally {
      this.#depth -= 1;
    }
  }

  /** Whether one more schema may be looked at. */
  mayGoOn(): boolean {
    this.#steps += 1;
    return this.#steps <= MOST_STEPS;
  }

  /** What has a name of its own: `$id` and `$anchor`. */
  #names(): Map<string, unknown> {
    if (this.#named !== undefined) return this.#named;
    const names = new Map<string, unknown>();
    const left: unknown[] = [this.#document];
    for (let count = 0; left.length > 0 && count < MOST_PARTS; count++) {
      const part = left.pop();
      if (typeof part !== "object" || part === null) continue;
      if (isRecord(part)) {
        if (typeof part.$id === "string" && !names.has(part.$id)) names.set(part.$id, part);
        for (const anchor of [part.$anchor, part.$dynamicAnchor]) {
          if (typeof anchor === "string" && !names.has(`#${anchor}`)) names.set(`#${anchor}`, part);
        }
      }
      left.push(...Object.values(part));
    }
    this.#named = names;
    return names;
  }
}

/** The tokens of a JSON pointer. */
export function tokensOf(pointer: string): string[] {
  if (pointer === "" || !pointer.startsWith("/")) return [];
  return pointer
    .slice(1)
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** A token of a JSON pointer. */
export const tokenOf = (name: string | number): string =>
  String(name).replaceAll("~", "~0").replaceAll("/", "~1");

function inside(start: unknown, fragment: string): unknown {
  let at = start;
  for (const token of tokensOf(decoded(fragment))) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, token)) return undefined;
    at = (at as Record<string, unknown>)[token];
  }
  return at;
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}
