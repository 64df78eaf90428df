// Whether what is wrong with a value was announced as a loss.

/** The steps of a value's path that a path in a schema speaks of; `*` for any. */
function valuePath(schemaPath) {
  const tokens = schemaPath.split("/").slice(1);
  const steps = [];
  for (let at = 0; at < tokens.length; at++) {
    const keyword = tokens[at];
    if (keyword === "properties" || keyword === "dependentSchemas") {
      at += 1;
      if (keyword === "properties") steps.push(tokens[at]);
    } else if (keyword === "patternProperties") {
      at += 1;
      steps.push("*");
    } else if (keyword === "prefixItems") {
      at += 1;
      steps.push(tokens[at]);
    } else if (
      ["items", "additionalItems", "additionalProperties", "contains", "unevaluatedItems"].includes(keyword)
    ) {
      steps.push(/^\d+$/.test(tokens[at + 1]) ? tokens[++at] : "*");
    } else if (["anyOf", "oneOf", "allOf"].includes(keyword)) at += 1;
  }
  return steps;
}

const ABOVE = new Set(["Expected union value", "Expected all values to match"]);

/** Whether a loss speaks of a place in a value, of what is around it or of what is in it. */
export function covers({ path }, errorPath, message) {
  const definition = /^\/(?:\$defs|definitions)\/[^/]*/.exec(path)?.[0];
  const expected = valuePath(path.slice(definition?.length ?? 0));
  const steps = errorPath.split("/").slice(1);
  // A definition may be used anywhere; the error of a union, or of several schemas at once, stands above what it complains
  // about.
  if (definition !== undefined && ABOVE.has(message)) return true;
  const starts = definition === undefined ? [0] : steps.keys();
  return Array.from(starts).some((start) => isAlong(expected, steps.slice(start)));
}

function isAlong(expected, steps) {
  const length = Math.min(expected.length, steps.length);
  for (let at = 0; at < length; at++) if (expected[at] !== "*" && expected[at] !== steps[at]) return false;
  return true;
}
