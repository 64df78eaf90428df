// What TypeBox says, with the differences that the contract wants taken into account.
//
// 1. What TypeBox throws on is invalid.
// 2. Names that live on `Object.prototype` count only as own properties. Where a schema declares such a
//    name, TypeBox is asked about a copy of the value whose objects inherit nothing; where the value has
//    objects that cannot be copied that way (instances of classes), it is not asked.
// 3. Formats: see typebox-copies.mjs.

import { ValueErrorType } from "@sinclair/typebox/errors";
import { Value } from "@sinclair/typebox/value";
import { hasHoles, hasInstances, hasUnlisted, withoutPrototypes } from "./value-shapes.mjs";

/** What TypeBox is asked about, in a list of one; nothing if it cannot be asked. */
export function forTypeBox(value, features) {
  // TypeBox's `contains` passes over the holes of an array, its other rules do not.
  if (features.contains && hasHoles(value)) return undefined;
  if (!features.prototypeNames) return [value];
  // What inherits nothing has no `toString`, which the regular expression kind calls.
  if (hasInstances(value) || features.kinds.has("RegExp")) return undefined;
  return [withoutPrototypes(value)];
}

/** TypeBox's verdict. */
export function checkedByTypeBox(schema, value) {
  try {
    return Value.Check(schema, value);
  } catch {
    return false;
  }
}

/**
 * TypeBox's errors; nothing where it throws, or where the value has properties that cannot be listed: its
 * check counts them among those that a Record does not allow, its errors do not. `loose` says that there are more of them than its own check
 * would justify: it calls a required property missing although the check accepts that it is absent
 * (its schema accepts `undefined`) or finds it on the prototype.
 */
export function errorsOfTypeBox(schema, value) {
  if (hasUnlisted(value)) return undefined;
  let loose = hasInstances(value);
  const errors = [];
  try {
    for (const { type, schema: part, path, message } of Value.Errors(schema, value)) {
      if (type === ValueErrorType.ObjectRequiredProperty && checkedByTypeBox(part, undefined)) loose = true;
      errors.push({ path, message });
    }
  } catch {
    return undefined;
  }
  return { errors, loose };
}

/**
 * Whether the errors can be compared at all. TypeBox decides `Not` and `contains` by whether there are
 * errors inside, and these are not always what its check says: see `loose` above, and its regular
 * expression kind accepts numbers in the check and only strings in the errors.
 */
export function errorsAreComparable({ kinds, contains }) {
  return !kinds.has("RegExp") && !kinds.has("Not") && !contains;
}

/** TypeBox escapes the names in its paths in some places and not in others. */
export function unescaped(path) {
  return path.replaceAll("~1", "/").replaceAll("~0", "~");
}
