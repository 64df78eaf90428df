// What each target accepts, written from what the providers publish and without a look at the projection: the judge of
// the tests and of `npm run corpus -- --tools`. Returns sentences about what a provider would refuse.

import Ajv2020 from "ajv/dist/2020.js";

const ajv = new Ajv2020({ strict: false, validateFormats: false });

/** What is wrong with a tool's name. */
export function nameProblems(target, name) {
  const pattern = target === "gemini" ? /^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$/ : /^[A-Za-z0-9_-]{1,64}$/;
  return pattern.test(name) ? [] : [`the name ${JSON.stringify(name)} is refused`];
}

/** What is wrong with a tool's schema. */
export function schemaProblems(target, schema) {
  switch (target) {
    case "openai-strict":
      return new StrictJudge(schema).problems();
    case "gemini":
      return new GeminiJudge(schema).problems();
    case "openai":
      return [...plainRoot(schema), ...modern(schema), ...everywhere(schema, arrayHasItems)];
    case "anthropic":
      return [...plainRoot(schema), ...modern(schema), ...everywhere(schema, anthropicNames)];
    case "mcp":
      return [...(schema.type === "object" ? [] : ["the root is no object"]), ...modern(schema)];
    default:
      return modern(schema);
  }
}

function plainRoot(schema) {
  const problems = schema.type === "object" ? [] : ["the root is no object"];
  for (const keyword of ["anyOf", "oneOf", "allOf", "not", "enum"]) {
    if (keyword in schema) problems.push(`${keyword} at the root`);
  }
  return problems;
}

/** JSON Schema 2020-12 whose references all lead somewhere. */
function modern(schema) {
  const problems = [];
  if (!ajv.validateSchema(schema)) problems.push(`no JSON Schema 2020-12: ${ajv.errorsText()}`);
  const defined = new Set(Object.keys(schema.$defs ?? {}).map((name) => `#/$defs/${name}`));
  problems.push(
    ...everywhere(schema, (node) =>
      node.$ref === undefined || defined.has(node.$ref) ? [] : [`${node.$ref} leads nowhere`],
    ),
  );
  return problems;
}

const SCHEMA = ["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"];
SCHEMA.push("unevaluatedItems", "unevaluatedProperties", "contentSchema");
const LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"];
const MAPS = ["properties", "patternProperties", "dependentSchemas", "$defs"];

/** Asks about every schema in a schema. */
function everywhere(root, ask) {
  const problems = [];
  const waiting = [root];
  while (waiting.length > 0) {
    const node = waiting.pop();
    if (typeof node !== "object" || node === null) continue;
    problems.push(...ask(node));
    for (const keyword of SCHEMA) if (keyword in node) waiting.push(node[keyword]);
    for (const keyword of LISTS) if (Array.isArray(node[keyword])) waiting.push(...node[keyword]);
    for (const keyword of MAPS) if (keyword in node) waiting.push(...Object.values(node[keyword]));
  }
  return problems;
}

const arrayHasItems = ({ type, items }) =>
  [type].flat().includes("array") && items === undefined ? ["an array without items"] : [];

const anthropicNames = ({ properties = {} }) =>
  Object.keys(properties)
    .filter((name) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(name))
    .map((name) => `the property ${JSON.stringify(name)} is refused`);

/** What is found on the way through a dialect. */
class Judge {
  found = [];

  say(at, sentence) {
    if (this.found.length < 20) this.found.push(`${at || "root"}: ${sentence}`);
  }

  keys(at, node, allowed) {
    for (const key of Object.keys(node)) if (!allowed.has(key)) this.say(at, `${key} is not supported`);
  }

  isSchema(at, node) {
    if (typeof node === "object" && node !== null && !Array.isArray(node)) return true;
    this.say(at, "no schema");
    return false;
  }
}

/** https://platform.openai.com/docs/guides/structured-outputs, "Supported schemas". */
class StrictJudge extends Judge {
  static #keys = new Set(
    `type description properties required additionalProperties items enum const anyOf $ref pattern format multipleOf
    minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems`.split(/\s+/),
  );
  static #formats = new Set("date-time time date duration email hostname ipv4 ipv6 uuid".split(" "));
  static #types = new Set(["string", "number", "boolean", "integer", "object", "array", "null"]);

  constructor(schema) {
    super();
    this.root = schema;
    this.count = { properties: 0, enumValues: 0, characters: 0, deepest: 0 };
  }

  problems() {
    const { $defs = {}, ...root } = this.root;
    if (root.type !== "object") this.say("", "the root is no object");
    if ("anyOf" in root) this.say("", "anyOf at the root");
    this.schema("", root, 0, []);
    for (const [name, definition] of Object.entries($defs)) {
      this.count.characters += [...name].length;
      this.schema(`/$defs/${name}`, definition, 0, [name]);
    }
    const { properties, enumValues, characters, deepest } = this.count;
    if (properties > 5000) this.say("", `${properties} properties`);
    if (deepest > 10) this.say("", `${deepest} levels`);
    if (enumValues > 1000) this.say("", `${enumValues} values in enumerations`);
    if (characters > 120_000) this.say("", `${characters} characters`);
    return this.found;
  }

  schema(at, node, level, open) {
    if (!this.isSchema(at, node)) return;
    this.keys(at, node, StrictJudge.#keys);
    if ("$ref" in node) {
      this.#reference(at, node, level, open);
      return;
    }
    const types = [node.type ?? []].flat();
    if (types.length === 0 && !("anyOf" in node)) this.say(at, "no type");
    for (const type of types) if (!StrictJudge.#types.has(type)) this.say(at, `no such type: ${type}`);
    if ("format" in node && (!types.includes("string") || !StrictJudge.#formats.has(node.format))) {
      this.say(at, `format ${node.format}`);
    }
    if ("pattern" in node && /\(\?[=!<]|\\[1-9]/.test(node.pattern))
      this.say(at, "a pattern that looks around");
    if (types.includes("object")) this.#object(at, node, level + 1, open);
    else if ("properties" in node) this.say(at, "properties of no object");
    if (types.includes("array")) {
      this.count.deepest = Math.max(this.count.deepest, level + 1);
      this.schema(`${at}/items`, node.items, level + 1, open);
    }
    if ("enum" in node) this.#enumeration(at, node.enum);
    for (const [index, variant] of (node.anyOf ?? []).entries()) {
      this.schema(`${at}/anyOf/${index}`, variant, level, open);
    }
  }

  #reference(at, node, level, open) {
    if (Object.keys(node).length > 1) this.say(at, "something beside $ref");
    const name = /^#\/\$defs\/(.+)$/.exec(node.$ref)?.[1];
    const target = this.root.$defs?.[name];
    if (target === undefined) this.say(at, `${node.$ref} leads nowhere`);
    else if (!open.includes(name)) this.#depth(target, level, [...open, name]);
  }

  /** Levels through references: what is in a circle counts once. */
  #depth(node, level, open) {
    if (level > 11) return;
    const name = /^#\/\$defs\/(.+)$/.exec(node.$ref ?? "")?.[1];
    if (name !== undefined) {
      if (!open.includes(name)) this.#depth(this.root.$defs[name] ?? {}, level, [...open, name]);
      return;
    }
    const here = level + ("properties" in node || "items" in node ? 1 : 0);
    this.count.deepest = Math.max(this.count.deepest, here);
    for (const child of Object.values(node.properties ?? {})) this.#depth(child, here, open);
    for (const child of node.anyOf ?? []) this.#depth(child, here, open);
    if (node.items) this.#depth(node.items, here, open);
  }

  #object(at, node, level, open) {
    this.count.deepest = Math.max(this.count.deepest, level);
    if (node.additionalProperties !== false) this.say(at, "additionalProperties is not false");
    const names = Object.keys(node.properties ?? {});
    const required = new Set(node.required ?? []);
    if (required.size !== names.length || !names.every((name) => required.has(name))) {
      this.say(at, "not all properties are required");
    }
    this.count.properties += names.length;
    for (const name of names) {
      this.count.characters += [...name].length;
      this.schema(`${at}/properties/${name}`, node.properties[name], level, open);
    }
  }

  #enumeration(at, values) {
    if (!Array.isArray(values) || values.length === 0) this.say(at, "an empty enumeration");
    const length = values.reduce((sum, value) => sum + String(value).length, 0);
    if (values.length > 250 && length > 15_000) this.say(at, "a long enumeration");
    this.count.enumValues += values.length;
    this.count.characters += length;
  }
}

/** https://ai.google.dev/api/caching#Schema, and what the API's messages say. */
class GeminiJudge extends Judge {
  static #keys = new Set(
    `type format title description nullable enum items minItems maxItems properties required minProperties maxProperties
    minLength maxLength pattern anyOf minimum maximum example propertyOrdering default`.split(/\s+/),
  );
  static #formats = {
    string: ["date-time", "enum"],
    number: ["float", "double"],
    integer: ["int32", "int64"],
  };

  constructor(schema) {
    super();
    this.root = schema;
  }

  problems() {
    if (this.root.type !== "object") this.say("", "the root is no object");
    this.schema("", this.root, true);
    return this.found;
  }

  schema(at, node, isRoot = false) {
    if (!this.isSchema(at, node)) return;
    this.keys(at, node, GeminiJudge.#keys);
    if ("anyOf" in node) {
      if (Object.keys(node).length > 1) this.say(at, "something beside anyOf");
      if (!(node.anyOf.length > 0)) this.say(at, "an empty anyOf");
      for (const [index, variant] of node.anyOf.entries()) this.schema(`${at}/anyOf/${index}`, variant);
      return;
    }
    const { type, format } = node;
    if (!["string", "number", "integer", "boolean", "array", "object"].includes(type)) {
      this.say(at, `type ${JSON.stringify(type)}`);
    }
    if (format !== undefined && !GeminiJudge.#formats[type]?.includes(format))
      this.say(at, `format ${format}`);
    if ("enum" in node && !isListOfTexts(node.enum, type)) this.say(at, "enum of no texts");
    if (type === "array") this.schema(`${at}/items`, node.items);
    if (type === "object") this.#object(at, node, isRoot);
  }

  #object(at, { properties = {}, required = [] }, isRoot) {
    const names = Object.keys(properties);
    // The root may be left out of a declaration altogether.
    if (names.length === 0 && !isRoot) this.say(at, "an object without properties");
    for (const name of names) {
      if (!/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name)) this.say(at, `the property ${JSON.stringify(name)}`);
      this.schema(`${at}/properties/${name}`, properties[name]);
    }
    for (const name of required) if (!names.includes(name)) this.say(at, `${name} is required and not there`);
  }
}

const isListOfTexts = (values, type) =>
  type === "string" && values.length > 0 && values.every((value) => typeof value === "string");
