// Random TypeBox schemas and values, with the rules for them.

import { SchemaMaker } from "./random-schemas.mjs";
import { randomValue } from "./random-values.mjs";
import { newTally, Subject } from "./typebox-rules.mjs";

export function typeBoxSubjects(tally = newTally()) {
  return {
    tally,
    make: (random) => new SchemaMaker(random).make(),
    value: randomValue,
    subject: (schema, again = false) => new Subject(schema, again ? newTally() : tally),
  };
}
