// A value with one thing wrong somewhere, or in another guise that should make no difference.

import { define } from "../../support/define.mjs";
import { farValue } from "./far-values.mjs";
import { HOSTILE_NAMES, PLAIN_NAMES, PROTOTYPE_NAMES } from "./random-words.mjs";

/** A copy that differs in one place; what is not on the way there is shared. */
export function changed(random, value) {
  const inner = childKeys(value);
  if (inner.length > 0 && random.chance(0.65)) {
    const key = random.pick(inner);
    const copy = copyOf(value);
    define(copy, key, changed(random, value[key]));
    return copy;
  }
  if (Array.isArray(value)) return changedArray(random, value);
  if (isPlain(value)) return changedObject(random, value);
  return changedScalar(random, value);
}

function changedScalar(random, value) {
  switch (typeof value) {
    case "number":
      return random.pick([value + 1, value - 1, -value, value + 0.5, String(value), [value]]);
    case "string":
      return random.pick([`${value}x`, value.slice(1), value.toUpperCase(), "", Number(value), [value]]);
    case "boolean":
      return random.pick([!value, String(value), Number(value)]);
    case "bigint":
      return random.pick([value + 1n, -value, Number(value), String(value)]);
    default:
      return farValue(random);
  }
}

function changedArray(random, value) {
  return random.pick([
    () => [...value, farValue(random)],
    () => value.slice(0, -1),
    () => [...value, ...value.slice(0, 1)],
    () => value.toReversed(),
    () => ({ ...value }),
    () => new Proxy(value, {}),
    () => [],
    () => farValue(random),
  ])();
}

function changedObject(random, value) {
  const keys = Object.keys(value);
  return random.pick([
    () => without(value, random.pick(keys)),
    () => without(value, random.pick(keys)),
    () => withProperty(value, random.pick(PLAIN_NAMES), farValue(random)),
    () => withProperty(value, random.pick(HOSTILE_NAMES), farValue(random)),
    () => withProperty(value, random.pick(PROTOTYPE_NAMES), farValue(random)),
    () => withProperty(value, keys.length > 0 ? random.pick(keys) : "a", undefined),
    () => withProperty(value, keys.length > 0 ? random.pick(keys) : "a", farValue(random)),
    () => inAnotherGuise(random, value),
    () => inAnotherGuise(random, value),
    () => Object.entries(value),
    () => farValue(random),
  ])();
}

/** The same properties on another sort of object. */
function inAnotherGuise(random, value) {
  const keys = Object.keys(value);
  const descriptors = Object.getOwnPropertyDescriptors(value);
  return random.pick([
    () => Object.create(null, descriptors),
    () => new Proxy(value, {}),
    () => Object.freeze(copyOf(value)),
    () => Object.create(class Custom {}.prototype, descriptors),
    // Everything inherited.
    () => Object.create(value),
    // Getters.
    () => {
      const copy = {};
      for (const key of keys) {
        Object.defineProperty(copy, key, { get: () => value[key], enumerable: true, configurable: true });
      }
      return copy;
    },
    // One property that cannot be listed.
    () => {
      const copy = copyOf(value);
      if (keys.length > 0) Object.defineProperty(copy, random.pick(keys), { enumerable: false });
      return copy;
    },
    () => withProperty(value, Symbol("extra"), 1),
    () => copyOf(value, keys.toReversed()),
  ])();
}

function childKeys(value) {
  if (Array.isArray(value)) return Object.keys(value);
  return isPlain(value) ? Object.keys(value) : [];
}

function isPlain(value) {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function copyOf(value, keys) {
  if (Array.isArray(value)) return [...value];
  const copy = {};
  for (const key of keys ?? Object.keys(value)) define(copy, key, value[key]);
  return copy;
}

function without(value, key) {
  return copyOf(
    value,
    Object.keys(value).filter((each) => each !== key),
  );
}

function withProperty(value, key, property) {
  const copy = copyOf(value);
  define(copy, key, property);
  return copy;
}
