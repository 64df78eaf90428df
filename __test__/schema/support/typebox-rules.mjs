// What must hold for a TypeBox schema and a value. Each rule yields sentences about what does not.

import { Value } from "@sinclair/typebox/value";
import { hasPrototypeKey, isComparableWithCast } from "./cast-comparison.mjs";
import { featuresOf } from "./schema-features.mjs";
import { CompiledSchema } from "./typebox-copies.mjs";
import {
  checkedByTypeBox,
  errorsAreComparable,
  errorsOfTypeBox,
  forTypeBox,
  unescaped,
} from "./typebox-opinion.mjs";
import { isJson, isSameData } from "./value-shapes.mjs";

/** So many errors are reported at most. */
const MAX_ERRORS = 1000;

/** How often each rule was applied: a comparison that never applies shows nothing. */
export function newTally() {
  return {
    pairs: 0,
    valid: 0,
    typebox: 0,
    exact: 0,
    fastCheck: 0,
    json: 0,
    errors: 0,
    messages: 0,
    cast: 0,
    emitted: 0,
    schemas: 0,
  };
}

/** A schema with all that is known about it. */
export class Subject {
  constructor(schema, tally = newTally()) {
    this.schema = schema;
    this.tally = tally;
    this.features = featuresOf(schema);
    this.compiled = new CompiledSchema(schema);
    this.emitted = this.compiled.warmUp();
    tally.schemas += 1;
    if (this.emitted.check) tally.emitted += 1;
  }

  /** Everything that does not hold for the value: `{ rule, detail }`. */
  *problems(value) {
    const { compiled, tally } = this;
    tally.pairs += 1;
    const valid = compiled.walk(value);
    if (valid) tally.valid += 1;
    const emitted = compiled.check(value);
    if (emitted !== valid) yield problem("emitted = walk", `emitted ${emitted}, walk ${valid}`);
    yield* this.#asTypeBox(value, valid);
    yield* this.#fastCheck(value, valid);
    yield* this.#exact(value, valid);
    yield* this.#errors(value, valid);
    if (isJson(value)) yield* this.#asJson(value, valid);
    yield* this.#normalise(value, valid);
  }

  *#asTypeBox(value, valid) {
    const asked = forTypeBox(value, this.features);
    if (asked === undefined) return;
    this.tally.typebox += 1;
    const wanted = checkedByTypeBox(this.schema, asked[0]);
    if (wanted !== valid) yield problem("walk = Value.Check", `walk ${valid}, TypeBox ${wanted}`);
  }

  *#exact(value, valid) {
    if (!this.compiled.isExact(value)) return;
    this.tally.exact += 1;
    if (!valid) yield problem("exact means valid", "exact, but not valid");
  }

  /** The fast check says yes or perhaps: a yes must be right. */
  *#fastCheck(value, valid) {
    const { compiled } = this;
    if (compiled.passesFastCheck(value, false)) {
      this.tally.fastCheck += 1;
      if (!valid) yield problem("what passes the fast check is valid", "passes, but is not valid");
    }
    if (!compiled.passesFastCheck(value, true)) return;
    const { value: result, notes } = compiled.normalise(value);
    if (!valid || !Object.is(result, value) || notes.length > 0) {
      yield problem("what passes the fast check exactly stays", { valid, result, notes });
    }
  }

  *#errors(value, valid) {
    const errors = this.compiled.errors(value);
    if (valid !== (errors.length === 0)) {
      yield problem("no errors = valid", `walk ${valid}, errors ${JSON.stringify(errors)}`);
    }
    if (valid || !errorsAreComparable(this.features)) return;
    const asked = forTypeBox(value, this.features);
    const theirs = asked && errorsOfTypeBox(this.schema, asked[0]);
    if (theirs === undefined || theirs.errors.length === 0 || errors.length >= MAX_ERRORS) return;
    this.tally.errors += 1;
    yield* compareErrors(errors, theirs, this.features, this.tally);
  }

  *#asJson(value, valid) {
    if (this.features.needsCallbacks) return;
    this.tally.json += 1;
    const text = JSON.stringify(value);
    const verdict = this.compiled.checkJson(text);
    if (verdict !== valid) yield problem("JSON = walk", `JSON ${verdict}, walk ${valid}`);
    const [live, other] = [this.compiled.errors(value), this.compiled.errorsJson(text)].map((each) =>
      JSON.stringify(each),
    );
    if (live !== other) yield problem("errors of JSON = errors", `JSON ${other}, live ${live}`);
  }

  *#normalise(value, valid) {
    const { value: result, notes } = this.compiled.normalise(value);
    // Without the undeclared properties a value may break a rule that it did not break with them.
    if (valid && notes.length > 0 && Object.is(result, value)) {
      yield problem("valid values that stay need no notes", JSON.stringify(notes));
    }
    if (this.compiled.isExact(value) && !Object.is(result, value)) {
      yield problem("exact values stay the same", `became ${String(JSON.stringify(result))}`);
    }
    if (notes.length === 0 && !this.compiled.walk(result)) {
      yield problem("normalised values pass or are reported", { result });
    }
    const again = this.compiled.normalise(result);
    if (!Object.is(again.value, result)) {
      yield problem("normalising twice is normalising once", { once: result, twice: again.value });
    }
    // Cast makes what is missing in an intersection anew, whatever its parts have for defaults.
    if (valid || !this.features.kinds.has("Intersect")) yield* this.#asCast(value, result);
  }

  *#asCast(value, result) {
    // Cast would write to the prototype of what it makes.
    if (this.features.prototypeNames || this.features.oddDefault) return;
    // The engine makes no classes.
    if (this.features.kinds.has("Constructor")) return;
    if (!isComparableWithCast(this.schema, value)) return;
    let wanted;
    try {
      wanted = Value.Cast(this.schema, value);
    } catch {
      return; // The contract: never throws, the value stays.
    }
    // Cast makes the first variant of a union even where another one would pass.
    if (!checkedByTypeBox(this.schema, wanted) || hasPrototypeKey(result)) return;
    this.tally.cast += 1;
    if (!isSameData(result, wanted)) yield problem("normalise = Value.Cast", { result, wanted });
  }
}

function* compareErrors(all, { errors, loose }, { kinds }, tally) {
  const pathsOf = (list) => new Set(list.map(({ path }) => unescaped(path)));
  const theirPaths = pathsOf(errors);
  // TypeBox refuses a prototype for its `constructor` under a closed Record, and does not say so among its errors.
  const isUnsaid = (path) =>
    kinds.has("Constructor") && path.endsWith("/constructor") && !theirPaths.has(path);
  const ours = all.filter(({ path }) => !isUnsaid(unescaped(path)));
  const paths = pathsOf(ours);
  const [lines, theirLines] = [ours, errors].map((list) => new Set(list.map(line)));
  const missing = [...theirPaths].filter((path) => !paths.has(path));
  const extra = [...paths].filter((path) => !theirPaths.has(path));
  if (extra.length > 0 || (missing.length > 0 && !loose)) {
    yield problem("paths = TypeBox's paths", { ours, theirs: errors, missing, extra });
    return;
  }
  tally.messages += 1;
  const unknown = [...lines].filter((each) => !theirLines.has(each));
  const unsaid = loose ? [] : [...theirLines].filter((each) => !lines.has(each));
  if (unknown.length > 0 || unsaid.length > 0) {
    yield problem("messages = TypeBox's messages", { ours, theirs: errors, unknown, unsaid });
  }
}

function line({ path, message }) {
  return `${unescaped(path)}: ${message}`;
}

function problem(rule, detail) {
  return { rule, detail };
}
