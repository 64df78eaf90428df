// Random plain JSON Schemas: the schema as it is and what FromSchema makes of it, each emitted, walked and
// on JSON text, and Ajv as another opinion where it is installed.

import { FromSchema } from "@alkdev/operations";
import { ajvOpinion } from "./ajv-opinion.mjs";
import { changed } from "./changed-values.mjs";
import { farValue } from "./far-values.mjs";
import { nearJson } from "./near-json.mjs";
import { JsonSchemaMaker, jsonValue } from "./random-json-schemas.mjs";
import { CompiledSchema } from "./typebox-copies.mjs";
import { hasInstances, hasUnlisted, isJson } from "./value-shapes.mjs";

export async function jsonSchemaSubjects() {
  const ajv = await ajvOpinion();
  const newTally = () => ({ pairs: 0, valid: 0, json: 0, ...(ajv && { ajv: 0 }), exact: 0 });
  const tally = newTally();
  return {
    tally,
    make: (random) => new JsonSchemaMaker(random).make(),
    value: randomJsonValue,
    subject: (schema, again = false) => new JsonSubject(schema, ajv, again ? newTally() : tally),
  };
}

function randomJsonValue(random, schema) {
  if (random.chance(0.05)) return farValue(random);
  if (random.chance(0.1)) return jsonValue(random);
  const value = nearJson(random, schema);
  return random.chance(0.5) ? value : changed(random, value);
}

class JsonSubject {
  constructor(schema, ajv, tally) {
    this.tally = tally;
    this.raw = new CompiledSchema(schema);
    this.converted = new CompiledSchema(FromSchema(schema));
    this.raw.warmUp();
    this.converted.warmUp();
    this.ajv = ajv?.(schema);
  }

  *problems(value) {
    this.tally.pairs += 1;
    const valid = this.raw.walk(value);
    if (valid) this.tally.valid += 1;
    const opinions = {
      walk: valid,
      emitted: this.raw.check(value),
      "walk of FromSchema": this.converted.walk(value),
      "emitted of FromSchema": this.converted.check(value),
    };
    if (isJson(value)) {
      this.tally.json += 1;
      const text = JSON.stringify(value);
      opinions.json = this.raw.checkJson(text);
      opinions["json of FromSchema"] = this.converted.checkJson(text);
      const ajv = this.ajv?.(value);
      if (ajv !== undefined) {
        this.tally.ajv += 1;
        opinions.ajv = ajv;
      }
      yield* this.#errorsOfJson(value, text);
    }
    if (Object.values(opinions).some((each) => each !== valid)) {
      yield { rule: "everyone agrees", detail: JSON.stringify(opinions) };
    }
    const errors = this.raw.errors(value);
    if (valid !== (errors.length === 0)) {
      yield { rule: "no errors = valid", detail: JSON.stringify({ valid, errors }) };
    }
    yield* this.#normalise(value, valid);
  }

  *#errorsOfJson(value, text) {
    const lists = [this.raw.errors(value), this.raw.errorsJson(text), this.converted.errors(value)];
    const [live, json, converted] = lists.map((each) => JSON.stringify(each));
    if (live !== json) yield { rule: "errors of JSON = errors", detail: { live, json } };
    if (live !== converted) yield { rule: "errors of FromSchema = errors", detail: { live, converted } };
  }

  *#normalise(value, valid) {
    const { value: result, notes } = this.raw.normalise(value);
    // The check of `properties` reads what an object inherits or does not list, that of
    // `patternProperties` does not: in a copy, where everything is its own, more rules apply.
    if (hasInstances(value) || hasUnlisted(value)) return;
    // Without the undeclared properties a value may break a rule that it did not break with them.
    if (valid && notes.length > 0 && Object.is(result, value)) {
      yield { rule: "valid values that stay need no notes", detail: JSON.stringify(notes) };
    }
    if (this.raw.isExact(value)) {
      this.tally.exact += 1;
      if (!valid) yield { rule: "exact means valid", detail: "exact, but not valid" };
      if (!Object.is(result, value)) yield { rule: "exact values stay the same", detail: { result } };
    }
    if (notes.length === 0 && !this.raw.walk(result)) {
      yield { rule: "normalised values pass or are reported", detail: { result } };
    }
    const again = this.raw.normalise(result).value;
    if (!Object.is(again, result)) {
      yield { rule: "normalising twice is normalising once", detail: { once: result, twice: again } };
    }
  }
}
