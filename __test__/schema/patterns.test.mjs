// The pattern engines in Rust next to V8's own: random patterns, random texts, the same verdict.
// `OPERATIONS_SEED` repeats a run, `OPERATIONS_PAIRS` makes it longer or shorter.

import assert from "node:assert/strict";
import { test } from "node:test";
import { chosenSeed, Random } from "./support/random.mjs";
import { CompiledSchema } from "./support/typebox-copies.mjs";

const seed = chosenSeed();
const ROUNDS = Number(process.env.OPERATIONS_PAIRS ?? 20_000) / 4;

/** What patterns are made of; the brackets rarely match, and what is no pattern is passed over. */
const ATOMS = [
  ..."aabbcé😀 \n",
  ...[
    "😀",
    ".",
    "[ab]",
    "[^a]",
    "[a-c]",
    "[^\\w]",
    "\\d",
    "\\w",
    "\\W",
    "\\s",
    "\\S",
    "\\n",
    "\\x61",
    "\\u{1F600}",
  ],
  ...["\\p{L}", "\\P{Lu}", "[\\p{L}\\d]", "[^\\p{L}]", "[]", "[^]", "\\u00e9"],
];
const LOOKS = ["(?=", "(?!", "(?<=", "(?<!"];
const ASSERTIONS = ["^", "$", "\\b", "\\B"];
const QUANTIFIERS = ["*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "+?", "??", "{1,2}?"];

function randomPattern(random, depth = 3) {
  let pattern = "";
  for (let parts = random.below(4) + 1; parts > 0; parts -= 1) {
    const choice = random.below(20);
    if (choice < 9 || depth === 0) pattern += random.pick(ATOMS) + quantifier(random);
    else if (choice < 11) pattern += random.pick(ASSERTIONS);
    else if (choice < 14) pattern += `(${randomPattern(random, depth - 1)})${quantifier(random)}`;
    else if (choice < 15) pattern += `(?:${randomPattern(random, depth - 1)})${quantifier(random)}`;
    else if (choice < 17) pattern += `${random.pick(LOOKS)}${randomPattern(random, depth - 1)})`;
    else if (choice < 18) pattern += `\\${random.below(3) + 1}${quantifier(random)}`;
    else pattern += `|${random.pick(ATOMS)}`;
  }
  return pattern;
}

function quantifier(random) {
  return random.below(3) === 0 ? random.pick(QUANTIFIERS) : "";
}

function randomText(random) {
  let text = "";
  for (let length = random.below(9); length > 0; length -= 1) text += random.pick([..."aaabbbcé😀 \n1A"]);
  return text;
}

function expression(pattern, flags) {
  try {
    return new RegExp(pattern, flags);
  } catch {
    return undefined;
  }
}

/** Whether it matches at one of the characters, or at the end. (Left to itself V8 also looks between the two
 * halves of a character, where the specification has no place.) */
function matchesSomewhere(sticky, text) {
  let at = 0;
  for (const character of [...text, ""]) {
    sticky.lastIndex = at;
    if (sticky.test(text)) return true;
    at += character.length;
  }
  return false;
}

test("patterns mean what they mean in V8, in every engine", () => {
  const random = new Random(seed);
  let compared = 0;
  let given = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const pattern = randomPattern(random);
    const theirs = expression(pattern, "uy");
    if (theirs === undefined) continue;
    const ours = new CompiledSchema({ type: "string", pattern });
    for (let texts = 0; texts < 4; texts += 1) {
      const text = randomText(random);
      // V8 does not read a character of two halves after a group that took no part.
      if (text.includes("😀") && /\\\d/.test(pattern)) continue;
      let verdict;
      try {
        verdict = ours.checkJson(JSON.stringify(text));
      } catch (error) {
        assert.equal(error.details?.limit, "backtracking", error.message);
        given += 1;
        continue;
      }
      compared += 1;
      assert.equal(
        verdict,
        matchesSomewhere(theirs, text),
        `OPERATIONS_SEED=${seed}: /${pattern}/u on ${JSON.stringify(text)}`,
      );
    }
  }
  console.log(`OPERATIONS_SEED=${seed}: ${compared} compared, ${given} given up`);
  assert.ok(compared > ROUNDS && given < compared / 1000, `${compared} compared, ${given} given up`);
});
