// A registry that can be searched. Queries are interpreted in crates/operations-tools; who may see what is decided here,
// at every search, because operations are registered again with other rules, and `protect` adds some.

import { invalid } from "../errors.js";
import {
  anObject,
  checkedOptions,
  type Fields,
  isWhole,
  must,
  optionOf,
  required,
} from "../interop/options.js";
import type { ToolSchemas } from "../native-binding.js";
import type { Entry } from "../registry/entry.js";
import type { OperationRegistry } from "../registry/registry.js";
import { native, runtime } from "../runtime.js";
import type { CallerIdentity, OperationSpec, OperationType } from "../types.js";
import { type CatalogueOperations, operationsOf } from "./catalogue-operations.js";
import { type JSONSchema, schemaTextOf } from "./projection.js";
import { SearchIndex } from "./search-index.js";
import { mayCall } from "./selection.js";
import { isShown } from "./shown.js";

/**
 * Options of `catalogue`.
 *
 * @example
 * ```ts
 * const options: CatalogueOptions = { identity };
 * const found = catalogue(registry, options).search("create an issue");
 * ```
 */
export interface CatalogueOptions {
  /** Only operations that this identity may call are shown. Without it, all operations that are not internal. */
  identity?: CallerIdentity | undefined;
}

/**
 * An operation that was found.
 *
 * @example
 * ```ts
 * const [best]: CatalogueHit[] = catalogue(registry).search("create an issue", { limit: 1 });
 * if (best) console.log(best.id, best.parameters);
 * ```
 */
export interface CatalogueHit {
  id: string;
  type: OperationType;
  title?: string;
  description: string;
  tags?: string[];
  /** The names of its parameters; those of optional ones end with a question mark. */
  parameters: string[];
  /** How well it matches. Only the order has a meaning. */
  score: number;
}

/**
 * All that is known about an operation.
 *
 * @example
 * ```ts
 * const described: OperationDescription | undefined = catalogue(registry).describe("tasks.create");
 * console.log(described?.signature);
 * ```
 */
export interface OperationDescription {
  id: string;
  type: OperationType;
  title?: string;
  description: string;
  tags?: string[];
  /** How to use the MCP server that it is a tool of, in the server's own words. */
  instructions?: string;
  inputSchema: JSONSchema;
  outputSchema: JSONSchema;
  /** Both schemas as a TypeScript declaration, for a prompt. */
  signature: string;
}

/**
 * Options of `search`.
 *
 * @example
 * ```ts
 * const options: SearchOptions = { limit: 3 };
 * catalogue(registry).search("merge a pull request", options);
 * ```
 */
export interface SearchOptions {
  /** Default 10. */
  limit?: number | undefined;
}

/**
 * Options of `signatures`.
 *
 * @example
 * ```ts
 * const options: SignatureOptions = { budget: 2_000, query: "pull requests" };
 * const prompt = catalogue(registry).signatures(options);
 * ```
 */
export interface SignatureOptions {
  /** The largest number of tokens, estimated with a margin. */
  budget: number;
  /** Words to search for. The best matches come first. Without it, the order is by id. */
  query?: string | undefined;
}

/**
 * A registry that can be searched. It follows registrations.
 *
 * @example
 * ```ts
 * const found: Catalogue = catalogue(registry, { identity });
 * found.search("merge a pull request", { limit: 3 });
 * ```
 */
export interface Catalogue {
  /** Finds operations in plain words. The best match comes first. */
  search(query: string, options?: SearchOptions): CatalogueHit[];
  /** Describes an operation. `undefined` if it does not exist or is not visible. */
  describe(id: string): OperationDescription | undefined;
  /** TypeScript declarations of operations, as many as fit. */
  signatures(options: SignatureOptions): string;
  /** `search`, `describe` and `call` as operations, for models that find their tools themselves. */
  asOperations(options?: { namespace?: string }): CatalogueOperations;
}

const OPTIONS: Fields<CatalogueOptions> = { identity: anObject };
const LIMIT = must("a whole number from 1 to 1,000", (value) => isWhole(value, 1) && value <= 1_000);
const SEARCH: Fields<SearchOptions> = { limit: LIMIT };
const SIGNATURES: Fields<SignatureOptions> = {
  budget: required(
    must("a whole number of tokens, at least 50", (value) => isWhole(value, 50) && value <= 10_000_000),
  ),
  query: must("a string", (value) => typeof value === "string"),
};
const AS_OPERATIONS: Fields<{ namespace?: string | undefined }> = {
  namespace: must("a string", (value) => typeof value === "string" && value !== ""),
};

/** Hits without a limit of the caller's. */
const DEFAULT_LIMIT = 10;
/** Tokens of the signature of one operation. */
const SIGNATURE_TOKENS = 4_000;
/** After so many operations without room in a row, no smaller one is tried. */
const MAX_MISSES = 3;

/**
 * Makes the operations of a registry searchable, for registries with too many operations for a prompt.
 *
 * @example
 * ```ts
 * const { search, signatures } = catalogue(registry, { identity });
 * search("merge a pull request", { limit: 3 });
 * const prompt = signatures({ budget: 2_000, query: "pull requests" });
 * ```
 */
export function catalogue(registry: OperationRegistry, given: CatalogueOptions = {}): Catalogue {
  const { identity } = checkedOptions<CatalogueOptions>(given, OPTIONS, { prefix: "catalogue: " });
  const searched = new SearchedRegistry(registry);
  const seenBy = (entry: Entry) => identity === undefined || mayCall(entry, identity);
  return {
    search: (query, options = {}) => searched.search(query, options, seenBy),
    describe: (id) => searched.describe(id, seenBy),
    signatures: (options) => searched.signatures(options, seenBy),
    asOperations: (options = {}) => {
      const { namespace } = checkedOptions(options, AS_OPERATIONS, { prefix: "asOperations: " });
      return operationsOf(searched, registry, identity, namespace ?? "catalogue");
    },
  };
}

/** Whether an operation is visible to the caller. */
export type SeenBy = (entry: Entry) => boolean;

/** Cached operations with their schemas, and cached texts, at most. */
const MAX_SCHEMAS = 512;
/** Larger schemas are read again. */
const MAX_SCHEMA_BYTES = 1_000_000;
const MAX_TEXTS = 64;

/** What was used last, up to a number. */
class Recent<K, V> {
  readonly #cached = new Map<K, V>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get(key: K): V | undefined {
    const known = this.#cached.get(key);
    if (known !== undefined) this.set(key, known);
    return known;
  }

  set(key: K, value: V): void {
    // What was used last is the last in the map.
    this.#cached.delete(key);
    this.#cached.set(key, value);
    if (this.#cached.size > this.#max) this.#cached.delete(this.#cached.keys().next().value as K);
  }
}

/** A text that was written, and of what. */
interface Written {
  readonly text: string;
  /** The operations that were considered, and whether there were others. */
  readonly entries: readonly Entry[];
  readonly hasMore: boolean;
  /** How many operations there were in all. */
  readonly all: number;
}

/** A registry and the index over it. */
export class SearchedRegistry {
  readonly #registry: OperationRegistry;
  readonly #index: SearchIndex;
  /** Both are likely to be used again: a prompt is sent with every turn of a conversation. */
  readonly #schemas = new Recent<Entry, ToolSchemas>(MAX_SCHEMAS);
  readonly #written = new Recent<string, Written>(MAX_TEXTS);
  #byId: { readonly revision: number; readonly entries: readonly Entry[] } | undefined;

  constructor(registry: OperationRegistry) {
    this.#registry = registry;
    this.#index = new SearchIndex(registry);
  }

  search(query: string, options: SearchOptions, seenBy: SeenBy): CatalogueHit[] {
    if (typeof query !== "string") throw invalid("search: the query must be a string");
    const { limit = DEFAULT_LIMIT } = checkedOptions<SearchOptions>(options, SEARCH, { prefix: "search: " });
    const hits: CatalogueHit[] = [];
    for (const { entry, score } of this.#index.ranked(query, limit)) {
      if (!isShown(entry) || !seenBy(entry)) continue;
      hits.push({ ...headOf(entry), parameters: this.#index.parameters(entry.id), score });
      if (hits.length === limit) break;
    }
    return hits;
  }

  describe(id: string, seenBy: SeenBy): OperationDescription | undefined {
    const entry = this.#registry.entry(id);
    if (entry === undefined || !isShown(entry) || !seenBy(entry)) return undefined;
    const input = schemaTextOf(entry.spec, "inputSchema");
    const output = schemaTextOf(entry.spec, "outputSchema");
    const declarations = new native.ToolDeclarations(runtime, SIGNATURE_TOKENS, true);
    const schemas = new native.ToolSchemas(input, output);
    declarations.add(entry.id, describedIn(entry.spec), entry.isSubscription, schemas);
    const instructions = optionOf(Object(entry.spec._meta), "instructions");
    return {
      ...headOf(entry),
      ...(typeof instructions === "string" && { instructions }),
      inputSchema: JSON.parse(input) as JSONSchema,
      outputSchema: JSON.parse(output) as JSONSchema,
      signature: declarations.text(0),
    };
  }

  signatures(given: SignatureOptions, seenBy: SeenBy): string {
    const { budget, query } = checkedOptions<SignatureOptions>(given, SIGNATURES, { prefix: "signatures: " });
    let all = 0;
    for (const entry of this.#registry.entries()) if (isShown(entry) && seenBy(entry)) all += 1;
    const key = `${budget} ${query ?? ""}`;
    const known = this.#written.get(key);
    if (known?.all === all && isOf(known, this.#inOrder(query, seenBy))) return known.text;
    const declarations = new native.ToolDeclarations(runtime, budget, false);
    const entries: Entry[] = [];
    let shown = 0;
    let misses = 0;
    let hasMore = false;
    for (const entry of this.#inOrder(query, seenBy)) {
      const { id, spec, isSubscription } = entry;
      entries.push(entry);
      if (declarations.add(id, describedIn(spec), isSubscription, this.#schemasOf(entry))) {
        shown += 1;
        misses = 0;
      } else if (++misses === MAX_MISSES) {
        hasMore = true;
        break;
      }
    }
    const text = declarations.text(all - shown);
    this.#written.set(key, { text, entries, hasMore, all });
    return text;
  }

  #schemasOf(entry: Entry): ToolSchemas {
    const known = this.#schemas.get(entry);
    if (known !== undefined) return known;
    const { spec } = entry;
    const schemas = new native.ToolSchemas(
      schemaTextOf(spec, "inputSchema"),
      schemaTextOf(spec, "outputSchema"),
    );
    if (schemas.bytes() <= MAX_SCHEMA_BYTES) this.#schemas.set(entry, schemas);
    return schemas;
  }

  /** Those that match a query, or all. */
  *#inOrder(query: string | undefined, seenBy: SeenBy): Iterable<Entry> {
    if (query !== undefined && query.trim() !== "") {
      for (const { entry } of this.#index.ranked(query, 64)) if (isShown(entry) && seenBy(entry)) yield entry;
      return;
    }
    for (const entry of this.#sorted()) if (isShown(entry) && seenBy(entry)) yield entry;
  }

  /** All operations in the order of their ids. */
  #sorted(): readonly Entry[] {
    const { revision } = this.#registry;
    if (this.#byId?.revision !== revision) {
      const entries = Array.from(this.#registry.entries());
      this.#byId = { revision, entries: entries.sort((one, other) => (one.id < other.id ? -1 : 1)) };
    }
    return this.#byId.entries;
  }
}

/** Whether a text would be written of the same operations again. */
function isOf({ entries, hasMore }: Written, order: Iterable<Entry>): boolean {
  let at = 0;
  for (const entry of order) {
    if (at === entries.length) return hasMore;
    if (entries[at] !== entry) return false;
    at += 1;
  }
  return at === entries.length && !hasMore;
}

function headOf({
  id,
  spec,
}: Entry): Omit<OperationDescription, "inputSchema" | "outputSchema" | "signature"> {
  const { type, title, description, tags } = spec;
  return {
    id,
    type,
    ...(typeof title === "string" ? { title } : {}),
    description: String(description ?? ""),
    ...(Array.isArray(tags) ? { tags: [...tags] } : {}),
  };
}

/** What is said of an operation where there is room for a sentence. */
function describedIn({ title, description }: OperationSpec): string {
  return title?.trim() || description?.trim() || "";
}
