// The names of access rules. An unknown rule would never be enforced, so it is refused wherever rules are
// given: with an operation, or with the source of some.

import { conditionFlaw } from "./access-condition.js";
import { nearestName } from "./interop/nearest-name.js";
import { AccessControlSchema } from "./spec-schemas.js";

const NAMES = Object.keys(AccessControlSchema.properties);

/** An unknown access rule, the message about it, and the rule that was probably meant. */
interface UnknownRule {
  readonly name: string;
  readonly message: string;
  readonly nearest: string | undefined;
}

/** The first name that is not an access rule. */
export function unknownRule(rules: object): UnknownRule | undefined {
  const name = Object.keys(rules).find((each) => !NAMES.includes(each));
  if (name === undefined) return undefined;
  const nearest = nearestName(name, NAMES);
  const hint = nearest === undefined ? `: there are ${NAMES.join(", ")}` : `. Did you mean ${nearest}?`;
  // A name is the user's own text: enough of it to recognise, no more.
  return { name: name.slice(0, 64), message: `is not an access rule${hint}`, nearest };
}

/** What is wrong with `when`, and where. */
export function whenFlaw(rules: object): { at: string; message: string } | undefined {
  const { when } = rules as { when?: unknown };
  const flaw = when === undefined ? undefined : conditionFlaw(when);
  return flaw && { at: `when${flaw.path}`, message: flaw.message };
}
