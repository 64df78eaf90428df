// What a TypeBox schema is made of, as far as comparisons depend on it.

import { Kind } from "@sinclair/typebox";
import { isComparableWithCast } from "./cast-comparison.mjs";
import { OWN_FORMATS, OWN_KINDS } from "./random-words.mjs";
import { checkedByTypeBox } from "./typebox-opinion.mjs";
import { hasUnlisted } from "./value-shapes.mjs";

/** Kinds that may, and Import. */
const ACCEPTS_UNDEFINED = new Set(
  "Any Unknown Undefined Void Not Union Intersect Import RegExp Ref This".split(" "),
);

/** Every schema inside a schema, itself included. */
export function* partsOf(schema) {
  if (typeof schema !== "object" || schema === null) return;
  if (Kind in schema) yield schema;
  for (const key of Object.keys(schema)) {
    const isConstant = Kind in schema && (key === "default" || key === "const");
    if (!isConstant) yield* partsOf(schema[key]);
  }
}

export function featuresOf(schema) {
  const features = {
    kinds: new Set(),
    /** An object declares a name that lives on `Object.prototype`. */
    prototypeNames: false,
    /** Only JavaScript can tell: kinds and formats of the user's own. */
    needsCallbacks: false,
    contains: false,
    /** A default that does not have the declared shape, or that TypeBox's Cast may overlook: of an Import,
     * of what accepts `undefined`, of a variant. */
    oddDefault: false,
  };
  for (const part of partsOf(schema)) {
    features.kinds.add(part[Kind]);
    if (part[Kind] in OWN_KINDS || part.format in OWN_FORMATS) features.needsCallbacks = true;
    if (part.contains !== undefined) features.contains = true;
    if ("default" in part && !isOrdinaryDefault(part)) features.oddDefault = true;
    if (part[Kind] === "Union" && part.anyOf.some((each) => "default" in each)) features.oddDefault = true;
    if (part[Kind] === "Object" && Object.keys(part.properties).some((name) => name in Object.prototype)) {
      features.prototypeNames = true;
    }
  }
  return features;
}

function isOrdinaryDefault(part) {
  if (ACCEPTS_UNDEFINED.has(part[Kind])) return false;
  // TypeBox's copy of a default lists what was unlisted.
  if (hasUnlisted(part.default)) return false;
  return checkedByTypeBox(part, part.default) && isComparableWithCast(part, part.default);
}
