// A schema as TypeBox's interpreter can read it. TypeBox refuses every value where a format is not registered; to us an
// unknown format is a remark, as in JSON Schema. What the interpreter would trip over later is refused here.

import { invalid } from "../errors.js";
import { isRecord } from "../interop/options.js";
import { quoted } from "../interop/text.js";
import { POSITIONS } from "../schema/json-schema-positions.js";
import { MAX_SCHEMA_DEPTH } from "../schema/limits.js";
import { BUILT_IN_KINDS, type Dictionary, kindOf } from "../schema/typebox-kinds.js";
import { isFormatKnown, learnKind } from "./registries.js";

/** The schema itself, or a copy without unregistered formats. */
export function readable(schema: object): object {
  const reading = new Reading();
  const copy = reading.schema(schema, true);
  const missing = [...reading.wanted].find((id) => !reading.ids.has(id));
  if (missing !== undefined) {
    throw invalid(`the schema refers to ${quoted(missing)}, which is not in it`, { reference: missing });
  }
  return reading.changed ? (copy as object) : schema;
}

class Reading {
  changed = false;
  readonly ids = new Set<unknown>();
  readonly wanted = new Set<unknown>();
  readonly #copies = new Map<object, object>();
  readonly #open = new Set<object>();
  #depth = 0;

  /** `isVisible`: not behind a property that `FromSchema` hides, where references lead back legally. */
  schema(schema: unknown, isVisible: boolean): unknown {
    if (!isRecord(schema)) return schema;
    if (isVisible && this.#open.has(schema)) throw invalid("the schema contains itself: use a reference");
    const known = this.#copies.get(schema);
    if (known !== undefined) return known;
    if (this.#depth >= MAX_SCHEMA_DEPTH) {
      throw invalid(`the schema is nested deeper than ${MAX_SCHEMA_DEPTH} levels`);
    }
    this.#depth += 1;
    if (isVisible) this.#open.add(schema);
    const copy = this.#copyOf(schema);
    this.#note(schema);
    for (const keyword of Object.getOwnPropertyNames(schema)) {
      const value = schema[keyword];
      if (keyword === "format" && typeof value === "string" && !isFormatKnown(value)) {
        delete copy[keyword];
        this.changed = true;
      } else if (typeof value === "object" && value !== null && POSITIONS.has(keyword)) {
        const isShown = isVisible && Object.prototype.propertyIsEnumerable.call(schema, keyword);
        replace(copy, keyword, this.#position(value, POSITIONS.get(keyword) === "map", isShown));
      }
    }
    this.#open.delete(schema);
    this.#depth -= 1;
    return copy;
  }

  /** Takes note of kinds and references. */
  #note(schema: Dictionary): void {
    const kind = kindOf(schema);
    if (kind !== undefined && !BUILT_IN_KINDS.has(kind)) learnKind(kind);
    if (schema.$id !== undefined) this.ids.add(schema.$id);
    if (kind === "Ref" || kind === "This") this.wanted.add(schema.$ref);
  }

  #position(value: object, isMap: boolean, isVisible: boolean): unknown {
    if (Array.isArray(value)) return value.map((item) => this.schema(item, isVisible));
    if (!isMap) return this.schema(value, isVisible);
    const known = this.#copies.get(value);
    if (known !== undefined) return known;
    const copy = this.#copyOf(value);
    for (const name of Object.getOwnPropertyNames(value)) {
      const isShown = isVisible && Object.prototype.propertyIsEnumerable.call(value, name);
      replace(copy, name, this.schema((value as Dictionary)[name], isShown));
    }
    return copy;
  }

  /** With everything that is hidden: `FromSchema` hides what only TypeBox needs. */
  #copyOf(value: object): Dictionary {
    const copy = Object.create(
      Object.getPrototypeOf(value),
      Object.getOwnPropertyDescriptors(value),
    ) as Dictionary;
    this.#copies.set(value, copy);
    return copy;
  }
}

/** Another value for a property that stays as visible as it was. */
function replace(target: Dictionary, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, configurable: true });
}
