// Ajv's verdict on JSON Schemas, without its known departures from the specification.

import { native } from "../../support/internals.mjs";
import { DRAFT_2020 } from "./random-json-schemas.mjs";
import { KNOWN_FORMATS } from "./random-words.mjs";

/** A function from a schema to a function from a value to Ajv's verdict (nothing where it has none). */
export async function ajvOpinion() {
  let [old, modern] = [];
  try {
    [old, modern] = await Promise.all([import("ajv"), import("ajv/dist/2020.js")]);
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    console.log("### ajv is not installed: one opinion less on JSON Schemas. ###");
    return undefined;
  }
  return (schema) => {
    if (isBeyondAjv(schema)) return undefined;
    const Ajv = schema.$schema === DRAFT_2020 ? modern.Ajv2020 : old.Ajv;
    const ajv = new Ajv({ strict: false, logger: false, validateSchema: false });
    // Formats mean what the engine says.
    for (const name of Object.keys(KNOWN_FORMATS))
      ajv.addFormat(name, (text) => native.checkFormat(name, text));
    const check = ajv.compile(schema);
    return (value) => {
      if (isValueBeyondAjv(value)) return undefined;
      try {
        return check(value);
      } catch {
        return undefined; // Its code for 2020-12 has bugs that make it throw.
      }
    };
  };
}

/** Ajv leaves out a property called `__proto__`, and reads what lives on `Object.prototype`. */
const PROTOTYPE_NAME = /"(__proto__|constructor|toString|valueOf|hasOwnProperty)"/;

function isValueBeyondAjv(value) {
  const text = JSON.stringify(value);
  // It does not see whether huge and tiny numbers are multiples.
  return PROTOTYPE_NAME.test(text) || /\de[+-]/.test(text);
}

function isBeyondAjv(schema) {
  const text = JSON.stringify(schema);
  return (
    PROTOTYPE_NAME.test(text) ||
    // It loses track of what was evaluated inside references and conditions.
    /"unevaluated(Items|Properties)"/.test(text) ||
    // It does not look at `contains` when an array is empty and has a list of schemas for its items, and
    // takes the type of the items behind such a list for that of all when it looks for equal ones.
    /"contains"|"uniqueItems"/.test(text) ||
    // A name without characters is no name to it.
    text.includes('""')
  );
}
