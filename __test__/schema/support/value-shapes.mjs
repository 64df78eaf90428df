// Questions about values that the comparisons ask.

/** Whether JSON can hold the value without any loss. */
export function isJson(value) {
  switch (typeof value) {
    case "boolean":
      return true;
    case "string":
      return value.isWellFormed();
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0);
    case "object":
      break;
    default:
      return false;
  }
  if (value === null) return true;
  const names = Reflect.ownKeys(value);
  if (Array.isArray(value)) {
    return (
      Object.getPrototypeOf(value) === Array.prototype &&
      names.length === value.length + 1 &&
      value.every(isJson)
    );
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return false;
  return names.every((name) => {
    if (typeof name !== "string" || !name.isWellFormed()) return false;
    const { enumerable, get } = Object.getOwnPropertyDescriptor(value, name);
    return enumerable && get === undefined && isJson(value[name]);
  });
}

/** Whether some object in it is neither plain nor an array. */
export function hasInstances(value) {
  if (typeof value === "function") return true;
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(hasInstances);
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) return true;
  return Object.getOwnPropertyNames(value).some((name) => hasInstances(value[name]));
}

/** Whether some array in it has places without an element. */
export function hasHoles(value) {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value) && Object.keys(value).length < value.length) return true;
  return Object.keys(value).some((name) => hasHoles(value[name]));
}

/** Whether some object in it has a property that cannot be listed. */
export function hasUnlisted(value) {
  if (typeof value === "function") return true;
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(hasUnlisted);
  const names = Object.getOwnPropertyNames(value);
  return names.length !== Object.keys(value).length || names.some((name) => hasUnlisted(value[name]));
}

/** A copy whose objects inherit nothing. */
export function withoutPrototypes(value) {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return Array.from(value, withoutPrototypes);
  const copy = Object.create(null);
  for (const name of Object.getOwnPropertyNames(value)) {
    const { enumerable } = Object.getOwnPropertyDescriptor(value, name);
    Object.defineProperty(copy, name, { value: withoutPrototypes(value[name]), enumerable });
  }
  return copy;
}

/** Equality of data: prototypes, the order of properties, unlisted properties and those that hold
 * `undefined` do not count. Functions and symbols that were made for a place are as good as each other. */
export function isSameData(left, right) {
  if (Object.is(left, right)) return true;
  if (typeof left === "symbol" && typeof right === "symbol") return left.description === right.description;
  if (typeof left === "function" && typeof right === "function") return true;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return false;
  if (Array.isArray(left) || Array.isArray(right)) {
    return (
      Array.isArray(left) &&
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((each, index) => isSameData(each, right[index]))
    );
  }
  // Each makes "now" at its own time.
  if (left instanceof Date && right instanceof Date) return Math.abs(left - right) < 10_000;
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].every((name) => isSameData(own(left, name), own(right, name)));
}

function own(value, name) {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}
