// Where `normalise` and TypeBox's `Value.Cast` must give the same result.
//
// The contract departs from Cast in these ways, so they are comparable only without them:
// - undeclared properties are removed (Cast keeps them when the value checks),
// - scalars are converted where nothing is lost (Cast replaces them), so where a scalar is wanted the
//   value must be right, or no scalar at all,
// - a value of the right type that breaks a constraint is kept (Cast replaces it): no constraints,
// - where Cast throws, the value stays,
// - a tuple or an array of the wrong length is kept (Cast cuts and fills),
// - an optional property that is there with `undefined` may stay (Cast drops it),
// - Cast treats arrays and instances of classes as objects, and makes an intersection anew.

import { Kind } from "@sinclair/typebox";
import { checkedByTypeBox } from "./typebox-opinion.mjs";

const CONSTRAINTS = [
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ...["minLength", "maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems"],
  ...["contains", "minContains", "maxContains", "minProperties", "maxProperties"],
  ...["minByteLength", "maxByteLength"],
];

/** Whether Cast's result for the value is also ours. */
export function isComparableWithCast(schema, value, references = []) {
  const known = typeof schema.$id === "string" ? [...references, schema] : references;
  const compare = (part, inner) => isComparableWithCast(part, inner, known);
  switch (schema[Kind]) {
    case "Any":
    case "Unknown":
      return !hasPrototypeKey(value);
    case "String":
    case "Number":
    case "Integer":
    case "Boolean":
    case "BigInt":
    case "Null":
    case "Undefined":
    case "Literal":
      return unconstrained(schema) && (checkedByTypeBox(schema, value) || isReplaceable(value));
    case "Object":
      return unconstrained(schema) && objectIsComparable(schema, value, compare);
    case "Record":
      return unconstrained(schema) && recordIsComparable(schema, value, compare);
    case "Array":
      if (!unconstrained(schema)) return false;
      return Array.isArray(value)
        ? Array.from(value, (each) => compare(schema.items, each)).every(Boolean)
        : isReplaceable(value);
    case "Tuple": {
      if (!Array.isArray(value)) return isReplaceable(value);
      const items = schema.items ?? [];
      return items.length === value.length && items.every((item, index) => compare(item, value[index]));
    }
    case "Union":
      // Cast does not look into an Import to see how well a value fits a variant.
      return (
        !("default" in schema) &&
        schema.anyOf.length > 0 &&
        schema.anyOf.every((part) => part[Kind] !== "Import" && compare(part, value))
      );
    case "Ref":
    case "This": {
      const target = known.find((each) => each.$id === schema.$ref);
      return target !== undefined && compare(target, value);
    }
    case "Import":
      return isComparableWithCast(schema.$defs[schema.$ref], value, [
        ...known,
        ...Object.values(schema.$defs),
      ]);
    default:
      return false;
  }
}

/** A property `__proto__` somewhere: TypeBox's copies lose it. */
export function hasPrototypeKey(value) {
  if (typeof value !== "object" || value === null) return false;
  return Object.hasOwn(value, "__proto__") || Object.values(value).some(hasPrototypeKey);
}

/** Nothing about it could be converted or kept. */
function isReplaceable(value) {
  return value === null || value === undefined || isPlain(value);
}

/** An ordinary object, all of whose properties can be listed. */
function isPlain(value) {
  return (
    typeof value === "object" &&
    value !== null &&
    Object.getPrototypeOf(value) === Object.prototype &&
    Object.keys(value).length === Reflect.ownKeys(value).length
  );
}

function unconstrained(schema) {
  return CONSTRAINTS.every((keyword) => schema[keyword] === undefined);
}

function objectIsComparable({ properties, required = [], additionalProperties }, value, compare) {
  if (!isPlain(value)) return value === null || value === undefined;
  if (additionalProperties === true) return false;
  for (const name of Object.getOwnPropertyNames(value)) {
    if (Object.hasOwn(properties, name)) continue;
    if (typeof additionalProperties !== "object" || !compare(additionalProperties, value[name])) return false;
  }
  return Object.keys(properties).every((name) => {
    // Where Cast would read from `Object.prototype`, or write to it.
    if (name in Object.prototype) return false;
    if (!Object.hasOwn(value, name)) return true;
    if (value[name] === undefined && !required.includes(name)) return false;
    return compare(properties[name], value[name]);
  });
}

function recordIsComparable({ patternProperties, additionalProperties }, value, compare) {
  if (!isPlain(value)) return value === null || value === undefined;
  if (additionalProperties !== undefined) return false;
  const [[pattern, part]] = Object.entries(patternProperties);
  const names = Object.getOwnPropertyNames(value);
  return names.every(
    (name) => name !== "__proto__" && new RegExp(pattern).test(name) && compare(part, value[name]),
  );
}
