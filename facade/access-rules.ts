// The names of access rules. One that nobody knows would be a rule that nobody keeps, so it is refused wherever rules are
// given: with an operation, or with the source of some.

import { nearestName } from "./border/nearest-name.js";
import { AccessControlSchema } from "./spec-schemas.js";

const NAMES = Object.keys(AccessControlSchema.properties);

/** A name that is no access rule, what to say about it, and the one that was probably meant. */
interface UnknownRule {
  readonly name: string;
  readonly message: string;
  readonly nearest: string | undefined;
}

/** The first name that is no access rule. */
export function unknownRule(rules: object): UnknownRule | undefined {
  const name = Object.keys(rules).find((each) => !NAMES.includes(each));
  if (name === undefined) return undefined;
  const nearest = nearestName(name, NAMES);
  const hint = nearest === undefined ? `: there are ${NAMES.join(", ")}` : `. Did you mean ${nearest}?`;
  // A name is the user's own text: enough of it to recognise, no more.
  return { name: name.slice(0, 64), message: `is not an access rule${hint}`, nearest };
}
