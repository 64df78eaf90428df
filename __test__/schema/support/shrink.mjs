// Makes a failing pair smaller, a step at a time, as long as it fails in the same way.

import { Kind } from "@sinclair/typebox";

const MAX_ATTEMPTS = 600;

/** The smallest pair found for which `fails(schema, value)` still holds. */
export function shrink(schema, value, fails) {
  let pair = [schema, value];
  let attempts = 0;
  const survives = (candidate) => {
    attempts += 1;
    // A TypeBox schema stays one.
    if (Kind in schema && !(Kind in (candidate[0] ?? {}))) return false;
    try {
      return fails(...candidate);
    } catch {
      return false;
    }
  };
  for (let found = true; found && attempts < MAX_ATTEMPTS; ) {
    found = false;
    for (const candidate of smallerPairs(...pair)) {
      if (attempts >= MAX_ATTEMPTS) break;
      if (!survives(candidate)) continue;
      pair = candidate;
      found = true;
      break;
    }
  }
  return pair;
}

function* smallerPairs(schema, value) {
  for (const part of partsFor(schema, value)) yield part;
  for (const smaller of smallerCopies(value)) yield [schema, smaller];
  for (const smaller of smallerCopies(schema)) yield [smaller, value];
}

/** A part of the schema with the part of the value that belongs to it. */
function* partsFor(schema, value) {
  const isContainer = typeof value === "object" && value !== null;
  for (const part of schema.anyOf ?? []) yield [part, value];
  for (const part of schema.allOf ?? []) yield [part, value];
  if (!isContainer) return;
  for (const key of Object.keys(schema.properties ?? {})) yield [schema.properties[key], value[key]];
  const items = schema.items;
  if (!Array.isArray(value) || items === undefined) return;
  for (let i = 0; i < value.length; i++) yield [Array.isArray(items) ? items[i] : items, value[i]];
}

/** Copies with one thing less, at any depth. */
function* smallerCopies(value) {
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) yield value.filter((_, index) => index !== i);
    for (let i = 0; i < value.length; i++) {
      for (const smaller of smallerCopies(value[i])) yield value.with(i, smaller);
    }
    return;
  }
  if (!isPlain(value)) return;
  for (const key of Object.keys(value)) {
    if (isNeeded(value, key)) continue;
    const copy = copyOf(value);
    delete copy[key];
    yield copy;
  }
  for (const key of Object.keys(value)) {
    for (const smaller of smallerCopies(value[key])) {
      const copy = copyOf(value);
      Object.defineProperty(copy, key, {
        value: smaller,
        enumerable: true,
        writable: true,
        configurable: true,
      });
      yield copy;
    }
  }
}

/** Keywords without which a schema of its kind is none. */
function isNeeded(value, key) {
  if (!(Kind in value)) return false;
  return [
    "properties",
    "patternProperties",
    "items",
    "anyOf",
    "allOf",
    "not",
    "returns",
    "$ref",
    "$defs",
    "const",
    "source",
    "flags",
    "pattern",
    "$id",
  ].includes(key);
}

function isPlain(value) {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function copyOf(value) {
  const copy = {};
  for (const key of Reflect.ownKeys(value)) {
    const descriptor = Object.getOwnPropertyDescriptor(value, key);
    Object.defineProperty(copy, key, { ...descriptor, configurable: true });
  }
  return copy;
}
