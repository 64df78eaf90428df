// Runs rules over many random pairs of a schema and a value, and tells of those that do not hold. Used by
// the difference tests and by `npm run fuzz`.

import { inspect, types } from "node:util";
import { define } from "../../support/define.mjs";
import { Random } from "./random.mjs";
import { shrink } from "./shrink.mjs";

const VALUES_PER_SCHEMA = 20;
const MAX_FINDINGS = 10;

/**
 * @param subjects how to make a schema (`make(random)`), a value (`value(random, schema)`) and a subject
 * with `problems(value)` (`subject(schema)`)
 * @returns the findings, each with its rule and what is needed to see it again
 */
export function runPairs({ seed, pairs, subjects, onProgress = () => {} }) {
  const seeds = new Random(seed);
  const findings = [];
  let done = 0;
  while (done < pairs && findings.length < MAX_FINDINGS) {
    const own = seeds.seed();
    done += runOne(own, Math.min(VALUES_PER_SCHEMA, pairs - done), subjects, findings);
    onProgress(done);
  }
  return { findings, done };
}

/** One schema with its values. */
function runOne(seed, count, subjects, findings) {
  const random = new Random(seed);
  const schema = subjects.make(random);
  const subject = attempt(() => subjects.subject(schema));
  if (subject.thrown) {
    add(findings, { rule: "schemas compile", detail: subject.thrown, schema, value: undefined, seed });
    return count;
  }
  for (let i = 0; i < count; i++) {
    const value = subjects.value(random, schema);
    const found = problemsOf(subject.result, value);
    if (found.length === 0) continue;
    const [{ rule, detail }] = found;
    const fails = (smallerSchema, smallerValue) =>
      problemsOf(subjects.subject(smallerSchema, true), smallerValue).some((each) => each.rule === rule);
    const [smallSchema, smallValue] = shrink(schema, value, fails);
    const again = problemsOf(subjects.subject(smallSchema, true), smallValue).find(
      (each) => each.rule === rule,
    );
    add(findings, { rule, detail: again?.detail ?? detail, schema: smallSchema, value: smallValue, seed });
    break;
  }
  return count;
}

/** Everything that does not hold; that something threw is such a thing. */
function problemsOf(subject, value) {
  const outcome = attempt(() => [...subject.problems(value)]);
  return outcome.thrown
    ? [{ rule: `nothing throws (${outcome.thrown.message})`, detail: outcome.thrown }]
    : outcome.result;
}

function attempt(work) {
  try {
    return { result: work() };
  } catch (thrown) {
    return { thrown: thrown instanceof Error ? thrown : new Error(String(thrown)) };
  }
}

/** A finding of each rule is enough. */
function add(findings, finding) {
  if (!findings.some((each) => each.rule === finding.rule)) findings.push(finding);
}

/** A finding as text: everything that one needs to see it again. */
export function describeFinding({ rule, detail, schema, value, seed }) {
  const show = (what) => inspect(revealed(what), { depth: 20, showProxy: true, getters: true });
  return [
    `--- ${rule} (seed of the schema ${seed})`,
    `schema: ${show(schema)}`,
    `value: ${show(value)}`,
    `detail: ${typeof detail === "string" ? detail : show(detail)}`,
  ].join("\n");
}

/** A copy that shows what inspection hides: what plain-looking objects inherit, and unlisted properties. */
function revealed(value) {
  if (typeof value !== "object" || value === null || types.isProxy(value)) return value;
  if (Array.isArray(value)) return value.map(revealed);
  const prototype = Object.getPrototypeOf(value);
  const inherits = prototype !== Object.prototype && prototype !== null;
  if (inherits && Object.getPrototypeOf(prototype) !== Object.prototype) return value;
  const copy = {};
  if (inherits && !Object.hasOwn(prototype, "constructor")) copy["<inherits>"] = revealed(prototype);
  else if (inherits) return value;
  for (const key of Reflect.ownKeys(value)) {
    const { enumerable, get } = Object.getOwnPropertyDescriptor(value, key);
    const name = enumerable ? key : `<unlisted> ${String(key)}`;
    define(copy, name, get === undefined ? revealed(value[key]) : `<getter> ${inspect(value[key])}`);
  }
  return copy;
}

export function describeFindings(findings) {
  return findings.map(describeFinding).join("\n\n");
}
