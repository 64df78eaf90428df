// Finding what a `$ref` points to inside the document that contains it. Nothing is ever fetched: a
// reference that leaves the document has no target here.

import { isRecord } from "../interop/options.js";
import { POSITIONS } from "./json-schema-positions.js";
import { MAX_SCHEMA_DEPTH } from "./limits.js";
import { type Dictionary, kindOf } from "./typebox-kinds.js";

/** A schema with an identifier of its own, and so the base of the references in it. */
interface Resource {
  root: unknown;
  base: string;
}

/** A base for documents that do not name themselves, so that relative identifiers can be joined. */
const NAMELESS = "json-schema:///";

/** The references of one document. The index is made when the first reference needs it. */
export class References {
  /** Up to draft 7 a `$ref` hides the keywords beside it. */
  readonly hidesSiblings: boolean;
  private readonly idKeyword: "$id" | "id";
  private index: ReferenceIndex | undefined;

  constructor(private readonly document: unknown) {
    const draft = isRecord(document) ? document.$schema : undefined;
    const draftName = typeof draft === "string" ? draft : "";
    this.hidesSiblings = /draft-0[3467]/.test(draftName);
    this.idKeyword = /draft-0[34]/.test(draftName) ? "id" : "$id";
  }

  /** The schema that `reference`, found in `holder`, points to; undefined when it is not in the document. */
  resolve(reference: string, holder: object): object | boolean | undefined {
    this.index ??= new ReferenceIndex(this.document, this.idKeyword, this.hidesSiblings);
    const target = this.index.find(reference, holder);
    return isRecord(target) || typeof target === "boolean" ? target : undefined;
  }
}

class ReferenceIndex {
  private readonly resources = new Map<object, Resource>();
  private readonly byId = new Map<string, Resource>();
  private readonly byAnchor = new Map<string, unknown>();
  private readonly nameless: Resource;

  constructor(
    document: unknown,
    private readonly idKeyword: "$id" | "id",
    private readonly hidesSiblings: boolean,
  ) {
    this.nameless = { root: document, base: NAMELESS };
    this.visit(document, this.nameless, 0);
  }

  find(reference: string, holder: object): unknown {
    const resource = this.resources.get(holder) ?? this.nameless;
    const hash = reference.indexOf("#");
    const address = hash < 0 ? reference : reference.slice(0, hash);
    const fragment = hash < 0 ? "" : decode(reference.slice(hash + 1));
    const target = address === "" ? resource : this.resource(address, resource);
    if (target === undefined) return undefined;
    return (
      this.inside(target, fragment) ??
      // Documents that were cut out of a larger one point from its root.
      (address === "" ? this.inside(this.nameless, fragment) : undefined)
    );
  }

  private resource(address: string, from: Resource): Resource | undefined {
    return this.byId.get(join(address, from.base)) ?? this.byId.get(address);
  }

  private inside(resource: Resource, fragment: string): unknown {
    if (fragment === "") return resource.root;
    if (fragment.startsWith("/")) return follow(resource.root, fragment);
    return this.byAnchor.get(`${resource.base}#${fragment}`);
  }

  private visit(schema: unknown, from: Resource, depth: number): void {
    if (!isRecord(schema) || this.resources.has(schema) || kindOf(schema) !== undefined) return;
    // Deeper than this the conversion refuses the document anyway.
    if (depth > MAX_SCHEMA_DEPTH) return;
    const resource = this.enter(schema, from);
    this.resources.set(schema, resource);
    for (const key of Object.keys(schema)) {
      const position = POSITIONS.get(key);
      if (position === undefined) continue;
      const value = schema[key];
      if (Array.isArray(value)) {
        for (const item of value) this.visit(item, resource, depth + 1);
      } else if (position === "map") {
        if (isRecord(value)) {
          for (const name of Object.keys(value)) this.visit(value[name], resource, depth + 1);
        }
      } else {
        this.visit(value, resource, depth + 1);
      }
    }
  }

  private enter(schema: Dictionary, from: Resource): Resource {
    let resource = from;
    const id = Object.hasOwn(schema, this.idKeyword) ? schema[this.idKeyword] : undefined;
    if (typeof id === "string" && !(this.hidesSiblings && typeof schema.$ref === "string")) {
      if (id.startsWith("#")) {
        this.byAnchor.set(`${from.base}${id}`, schema);
      } else {
        resource = { root: schema, base: join(id.replace(/#$/, ""), from.base) };
        if (!this.byId.has(resource.base)) this.byId.set(resource.base, resource);
        // TypeBox compares identifiers as they are written.
        if (!this.byId.has(id)) this.byId.set(id, resource);
      }
    }
    for (const keyword of ["$anchor", "$dynamicAnchor"]) {
      const name = Object.hasOwn(schema, keyword) ? schema[keyword] : undefined;
      if (typeof name === "string") this.byAnchor.set(`${resource.base}#${name}`, schema);
    }
    return resource;
  }
}

function follow(root: unknown, pointer: string): unknown {
  let target = root;
  for (const part of pointer.slice(1).split("/")) {
    const token = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof target !== "object" || target === null || !Object.hasOwn(target, token)) return undefined;
    target = (target as Dictionary)[token];
  }
  return target;
}

function decode(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}

function join(address: string, base: string): string {
  try {
    return new URL(address, base).href;
  } catch {
    return address;
  }
}
