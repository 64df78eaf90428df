// Schemas that others wrote (peers, MCP servers), within bounds that are checked before anything is made of them: conversion and
// compilation hold the thread of JavaScript, for about ten microseconds for each value in a schema.

import { invalid } from "../errors.js";
import { isObject } from "../interop/options.js";
import type { TypeBoxSchema } from "../schema-types.js";
import { compiled } from "./compiled.js";
import { FromSchema } from "./from-schema.js";

/** Values in one schema: objects, lists and what is in them. */
const MAX_VALUES = 10_000;
/** Characters of one schema as JSON. */
const MAX_CHARACTERS = 512 * 1024;
/** Values in all schemas of one list. */
const MAX_VALUES_OF_ALL = 500_000;

/** The schemas in the list of one peer or server. Those that were in its last list too are not made again. */
export class ForeignSchemas {
  #before = new Map<string, TypeBoxSchema>();
  #now = new Map<string, TypeBoxSchema>();
  #values = 0;

  /** Another list begins. */
  begin(): void {
    this.#before = this.#now;
    this.#now = new Map();
    this.#values = 0;
  }

  /** Converts and compiles a schema. Throws if it cannot be used. */
  take(source: unknown): TypeBoxSchema {
    const values = countValues(source);
    if (values > MAX_VALUES) throw invalid(`it has more than ${MAX_VALUES} values`);
    const text = JSON.stringify(source) ?? "";
    if (text.length > MAX_CHARACTERS) throw invalid(`it has more than ${MAX_CHARACTERS} characters`);
    const known = this.#now.get(text) ?? this.#before.get(text);
    if (known === undefined) {
      this.#values += values;
      if (this.#values > MAX_VALUES_OF_ALL) {
        throw invalid(`the schemas of this source have more than ${MAX_VALUES_OF_ALL} values in all`);
      }
    }
    const schema = known ?? (FromSchema(source) as TypeBoxSchema);
    // Compiled now, so that a schema that cannot be used is reported now, and not with every call.
    compiled(schema);
    this.#now.set(text, schema);
    return schema;
  }
}

/** How many values there are; a number above the limit where there are more. */
function countValues(source: unknown): number {
  let count = 0;
  const left: unknown[] = [source];
  while (left.length > 0 && count <= MAX_VALUES) {
    count += 1;
    const value = left.pop();
    // Spreading a list of any length would fill the stack.
    if (isObject(value)) for (const each of Object.values(value)) left.push(each);
  }
  return count;
}
