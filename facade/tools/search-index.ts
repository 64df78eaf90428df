// The native index over a registry, updated before each search.

import type { ToolCatalogue } from "../native-binding.js";
import type { Entry } from "../registry/entry.js";
import type { OperationRegistry } from "../registry/registry.js";
import { native, runtime } from "../runtime.js";
import { lazySchemaOutline } from "../schema/lazy.js";
import { OperationType } from "../types.js";
import { schemaTextOf } from "./projection.js";

/** Characters of a description that are indexed. More than the native side reads, which counts bytes. */
const MAX_DESCRIPTION = 1_000;
/** Entries that cross at once, so that no text becomes too long for a string. */
const BATCH = 500;

export class SearchIndex {
  readonly #registry: OperationRegistry;
  readonly #native: ToolCatalogue = new native.ToolCatalogue(runtime);
  /** The operations that the native side knows. There is a new `Entry` for each registration. */
  readonly #indexed = new Map<string, Entry>();
  #revision = -1;

  constructor(registry: OperationRegistry) {
    this.#registry = registry;
  }

  /** Operations by how well they match. Fetches as many as are likely to be needed, then all. */
  *ranked(question: string, likely: number): Iterable<{ entry: Entry; score: number }> {
    this.#follow();
    let taken = 0;
    for (const limit of [likely, 8 * likely, 0xffff_ffff]) {
      const hits = JSON.parse(this.#native.search(question, limit)) as { id: string; score: number }[];
      for (; taken < hits.length; taken++) {
        const { id, score } = hits[taken] as { id: string; score: number };
        const entry = this.#indexed.get(id);
        if (entry !== undefined) yield { entry, score };
      }
      if (hits.length < limit) return;
    }
  }

  parameters(id: string): string[] {
    return this.#native.parameters(id) ?? [];
  }

  #follow(): void {
    const registry = this.#registry;
    if (registry.revision === this.#revision) return;
    this.#revision = registry.revision;
    let batch: string[] = [];
    const send = () => {
      if (batch.length > 0) this.#native.put(`[${batch.join(",")}]`);
      batch = [];
    };
    let present = 0;
    for (const entry of registry.entries()) {
      if (entry.isInternal) continue;
      present += 1;
      if (this.#indexed.get(entry.id) === entry) continue;
      this.#indexed.set(entry.id, entry);
      batch.push(entryText(entry));
      if (batch.length === BATCH) send();
    }
    send();
    if (this.#indexed.size === present) return;
    const gone = [...this.#indexed.keys()].filter((id) => registry.entry(id) !== this.#indexed.get(id));
    for (const id of gone) this.#indexed.delete(id);
    if (gone.length > 0) this.#native.remove(gone);
  }
}

/** An entry for the native side: `Entry` in `crates/operations-tools/src/catalogue/mod.rs`. */
function entryText({ id, spec }: Entry): string {
  const { namespace, title, description, tags, type } = spec;
  const members = JSON.stringify({
    id,
    namespace,
    title: typeof title === "string" ? title : undefined,
    description: String(description ?? "").slice(0, MAX_DESCRIPTION),
    tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [],
    isQuery: type !== OperationType.MUTATION,
  });
  const input = lazySchemaOutline(spec, "inputSchema") ?? schemaTextOf(spec, "inputSchema");
  return wellFormed(`${members.slice(0, -1)},"input":${input}}`);
}

/** Rust strings cannot hold a lone surrogate, which JSON escapes. */
function wellFormed(json: string): string {
  if (!json.includes("\\ud")) return json;
  return json.replace(/(?<!\\)((?:\\\\)*)\\ud[89a-f][\da-f]{2}/g, "$1\ufffd");
}
