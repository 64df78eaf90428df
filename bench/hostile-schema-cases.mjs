// Schemas from outside that mean harm, each with a value on which it does most. Small schemas, values of
// a size that any server may send. The benchmark measures what they cost; the tests hold that they end.

/** A list of schemas that differ, so that nothing is shared between them. */
const many = (count, make) => Array.from({ length: count }, (_, index) => make(index));

const object = (count, entry) => Object.fromEntries(many(count, entry));

const letters = (count) => "a".repeat(count);

/** Each level refers twice to the next one. */
function doubling(keyword, levels, last) {
  const $defs = { [`l${levels}`]: last };
  for (let level = 0; level < levels; level++) {
    const next = { $ref: `#/$defs/l${level + 1}` };
    $defs[`l${level}`] = { [keyword]: [next, { title: "again", allOf: [next] }] };
  }
  return { $ref: "#/$defs/l0", $defs };
}

/** @type {Record<string, { schema: () => object, value: () => unknown }>} */
export const attacks = {
  "50 look-aheads that succeed, 16 KB": {
    schema: () => ({ type: "string", pattern: `${"(?=.*x)".repeat(50)}y` }),
    value: () => `${letters(16_000)}x`,
  },
  "nested look-aheads, 30 KB": {
    schema: () => ({ type: "string", pattern: "^(?=(?:(?=.*x).)*$)(?:(?=.*x)(?=.*y)a)*!" }),
    value: () => `${letters(30_000)}xy`,
  },
  "look-behind over everything before, 30 KB": {
    schema: () => ({ type: "string", pattern: "(?<=^[ab]*)(?<=^[ac]*)!" }),
    value: () => letters(30_000),
  },
  "100 patterns that backtrack, each to its limit": {
    schema: () => ({ anyOf: many(100, (i) => ({ type: "string", pattern: `^(a|a)*(?=!)b{${i + 1}}` })) }),
    value: () => `${letters(5000)}!`,
  },
  "back references, 30 KB": {
    schema: () => ({ type: "string", pattern: "^(a*)(a*)(a*)\\1\\2\\3b" }),
    value: () => letters(30_000),
  },
  "a linear pattern with thousands of states, 1 MB": {
    schema: () => ({ type: "string", pattern: "[ab]*a[ab]{2000}c" }),
    value: () => many(1_000_000, (i) => ((i * 7919) % 13 < 6 ? "a" : "b")).join(""),
  },
  "300 such patterns, 20 KB": {
    schema: () => ({ anyOf: many(300, (i) => ({ type: "string", pattern: `[ab]*a[ab]{${500 + i}}c` })) }),
    value: () => many(20_000, (i) => ((i * 7919) % 13 < 6 ? "a" : "b")).join(""),
  },
  "patterns that V8 may run, 200 x 60 KB": {
    schema: () => ({
      items: { anyOf: many(50, (i) => ({ type: "string", pattern: `[a-z]{3}[a-y]{2}[a-x]?${i}!` })) },
    }),
    value: () => many(200, () => letters(60_000)),
  },
  "1,000 patterns that are slow to compile": {
    schema: () => ({
      anyOf: many(1000, (i) => ({ type: "string", pattern: `^(\\p{L}{40}|\\p{N}{40}){${i % 3}}x${i}` })),
    }),
    value: () => "x",
  },
  "500 patterns for 5,000 property names": {
    schema: () => ({ patternProperties: object(500, (i) => [`^(k|q)[0-9]*${i}x(?=y)`, { type: "string" }]) }),
    value: () => object(5000, (i) => [`k${i}`.padEnd(30, "0"), 1]),
  },
  "an anyOf of 9 KB on 1 MB": {
    schema: () => ({ items: { anyOf: many(450, (i) => ({ const: i + 10 })) } }),
    value: () => many(500_000, (i) => i % 10),
  },
  "an anyOf of 450 objects on 50,000 objects": {
    schema: () => ({
      items: {
        anyOf: many(450, (i) => ({ type: "object", required: ["a"], properties: { a: { const: i } } })),
      },
    }),
    value: () => many(50_000, () => ({ a: -1 })),
  },
  "a oneOf of 300 under a oneOf of 300": {
    schema: () => ({
      items: {
        oneOf: many(300, (i) => ({
          title: `${i}`,
          oneOf: many(10, (k) => ({ minimum: i * 10 + k + 9, maximum: i })),
        })),
      },
    }),
    value: () => many(20_000, (i) => i % 7),
  },
  "5,000 optional properties, 20,000 empty objects": {
    schema: () => ({
      items: { type: "object", properties: object(5000, (i) => [`p${i}`, { type: "string" }]) },
    }),
    value: () => many(20_000, () => ({})),
  },
  "2,000 required names, 20,000 objects, allOf of 20": {
    schema: () => ({
      items: {
        allOf: many(20, (k) => ({
          anyOf: [
            {
              required: many(2000, (i) => `p${i}`)
                .toReversed()
                .concat(`x${k}`),
            },
            {},
          ],
        })),
      },
    }),
    value: () => many(20_000, () => object(20, (i) => [`p${i}`, 1])),
  },
  "5,000 dependencies, 20,000 objects": {
    schema: () => ({ items: { dependentRequired: object(5000, (i) => [`p${i}`, ["q"]]) } }),
    value: () => many(20_000, () => ({ a: 1 })),
  },
  "5,000 names of one length, additionalProperties false": {
    schema: () => ({
      items: {
        type: "object",
        additionalProperties: false,
        properties: object(5000, (i) => [`p${10_000 + i}`, {}]),
      },
    }),
    value: () => many(200, () => object(2000, (i) => [`p${12_900 + i}`, 1])),
  },
  "an enum of 20,000 and a text of 1 MB": {
    schema: () => ({ enum: many(20_000, (i) => `v${i}`) }),
    value: () => letters(1_000_000),
  },
  "an enum of 2,000 lists": {
    schema: () => ({ items: { enum: many(2000, (i) => [1, 2, 3, i + 10]) } }),
    value: () => many(20_000, () => [1, 2, 3, 4]),
  },
  "a const of 5,000 properties, 100 times": {
    schema: () => ({
      anyOf: many(100, (k) => ({ const: { ...object(5000, (i) => [`p${i}`, 1]), last: k } })),
    }),
    value: () => ({ ...object(5000, (i) => [`p${4999 - i}`, 1]), last: -1 }),
  },
  "uniqueItems 500 times on 20,000 objects": {
    schema: () => ({ allOf: many(500, (i) => ({ title: `${i}`, uniqueItems: true })) }),
    value: () => many(20_000, (i) => ({ i, a: [i, i] })),
  },
  "uniqueItems 300 times on ten texts of 1 MB": {
    schema: () => ({ allOf: many(300, (i) => ({ title: `${i}`, uniqueItems: true })) }),
    value: () => many(10, (i) => letters(1_000_000) + i),
  },
  "contains 300 times on 100,000 numbers": {
    schema: () => ({
      allOf: many(300, (i) => ({ contains: { minimum: 1e6 + i }, minContains: 0, maxContains: 5 })),
    }),
    value: () => many(100_000, (i) => i),
  },
  "unevaluatedProperties over an anyOf of 200": {
    schema: () => ({
      items: {
        unevaluatedProperties: false,
        anyOf: many(200, (i) => ({ properties: { [`p${i}`]: true, a: { not: { const: i } } } })),
      },
    }),
    value: () => many(3000, () => object(30, (i) => [`p${i}`, 1])),
  },
  "unevaluatedItems with contains": {
    schema: () => ({
      items: {
        unevaluatedItems: false,
        allOf: many(50, (i) => ({ contains: { minimum: i }, minContains: 0 })),
      },
    }),
    value: () => many(500, () => many(200, (i) => i)),
  },
  "unevaluatedProperties under each other": {
    schema: () => {
      let schema = { properties: { a: true } };
      for (let i = 0; i < 24; i++)
        schema = { anyOf: [schema, { title: `${i}` }], unevaluatedProperties: true };
      return { ...schema, $schema: "https://json-schema.org/draft/2020-12/schema" };
    },
    value: () => object(50, (i) => [`p${i}`, 1]),
  },
  "$dynamicRef that doubles": {
    schema: () => ({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      $id: "https://example.com/root",
      $dynamicAnchor: "n",
      type: ["object", "integer"],
      properties: { a: { allOf: [{ $dynamicRef: "#n" }, { $dynamicRef: "#n" }] } },
    }),
    value: () => {
      let value = 1;
      for (let i = 0; i < 60; i++) value = { a: value };
      return value;
    },
  },
  "allOf that doubles 40 times": {
    schema: () => doubling("allOf", 40, { type: "string" }),
    value: () => "x",
  },
  "anyOf that doubles 40 times": {
    schema: () => doubling("anyOf", 40, { maxLength: 1 }),
    value: () => "xyz",
  },
  "not in not, doubling by depth": {
    schema: () => ({ not: { anyOf: [{ items: { $ref: "#" } }, { title: "b", items: { $ref: "#" } }] } }),
    value: () => {
      let value = [];
      for (let i = 0; i < 40; i++) value = [value];
      return value;
    },
  },
  "minLength 1,000 times on 1 MB": {
    schema: () => ({ allOf: many(1000, (i) => ({ minLength: 600_000 + i })) }),
    value: () => `${"é".repeat(999_000)}`,
  },
  "formats 200 times on 1 MB": {
    schema: () => ({
      allOf: many(200, (i) => ({
        anyOf: [
          {
            format: [
              "uri",
              "iri",
              "email",
              "idn-hostname",
              "hostname",
              "json-pointer",
              "uri-template",
              "idn-email",
            ][i % 8],
          },
          { title: `${i}` },
        ],
      })),
    }),
    value: () => `http://${"a.b/".repeat(250_000)}`,
  },
  "the format regex on 2,000 patterns": {
    schema: () => ({ items: { format: "regex" } }),
    value: () => many(2000, (i) => `(\\p{L}{50}|\\p{N}{50}|[^\\p{Lu}]{50})x{${i % 50}}`),
  },
  "multipleOf 200 times on 50,000 numbers": {
    schema: () => ({ items: { allOf: many(200, (i) => ({ multipleOf: 1e-300 * (i + 1) })) } }),
    value: () => many(50_000, (i) => 1e300 + i * 1e290),
  },
  "propertyNames with 300 rules, 20,000 names": {
    schema: () => ({ propertyNames: { allOf: many(300, (i) => ({ minLength: i % 3, title: `${i}` })) } }),
    value: () => object(20_000, (i) => [`k${i}`.padEnd(10, "x"), 1]),
  },
  "allOf of 500 objects, 5,000 properties": {
    schema: () => ({
      allOf: many(500, (i) => ({ type: "object", properties: { [`q${i}`]: { type: "string" } } })),
    }),
    value: () => object(5000, (i) => [`p${i}`, 1]),
  },
  "allOf of 500 lists, 200,000 elements": {
    schema: () => ({ allOf: many(500, (i) => ({ prefixItems: [{ title: `${i}` }] })) }),
    value: () => many(200_000, (i) => i),
  },
  "unions in unions, each level mended": {
    schema: () => ({
      $ref: "#/$defs/t",
      $defs: {
        t: {
          anyOf: many(6, (i) => ({
            type: "object",
            required: [`r${i}`],
            properties: { a: { $ref: "#/$defs/t" }, b: { $ref: "#/$defs/t" }, [`r${i}`]: { type: "string" } },
          })),
        },
      },
    }),
    value: () => {
      const tree = (level) => (level === 0 ? {} : { a: tree(level - 1), b: tree(level - 1) });
      return tree(9);
    },
  },
  "conditions in conditions": {
    schema: () => {
      const $defs = { c0: { type: "object" } };
      for (let i = 1; i <= 40; i++) {
        const below = { $ref: `#/$defs/c${i - 1}` };
        // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema.
        $defs[`c${i}`] = { if: below, then: { allOf: [below] }, else: { allOf: [below] } };
      }
      return { items: { $ref: "#/$defs/c40" }, $defs };
    },
    value: () => many(100, () => ({ a: 1 })),
  },
  "defaults that multiply": {
    schema: () => ({
      type: "object",
      required: many(100, (i) => `p${i}`),
      properties: object(100, (i) => [
        `p${i}`,
        {
          type: "array",
          default: many(100, (k) => ({ k })),
          items: {
            type: "object",
            required: ["x"],
            properties: { k: {}, x: { type: "array", minItems: 50, items: { type: "string" } } },
          },
        },
      ]),
    }),
    value: () => ({}),
  },
  "a value of 16 MB of numbers, a simple schema": {
    schema: () => ({ items: { type: "integer" } }),
    value: () => many(8_000_000, (i) => i % 10),
  },
  "a value of 16 MB of numbers that do not pass": {
    schema: () => ({ items: { type: "string" } }),
    value: () => many(8_000_000, (i) => i % 10),
  },
  "an object of 500,000 properties": {
    schema: () => ({
      type: "object",
      properties: { a: { type: "string" } },
      additionalProperties: { type: "integer" },
    }),
    value: () => object(500_000, (i) => [`key${i}`, i]),
  },
};
