// A schema at work. Compiled when it is first used, in two steps. The native walk needs no warm-up and serves a
// schema that is used a few times; if the schema is simple, its fast check accepts most values before the walk is
// asked. A schema that earns it gets JavaScript of its own, written by the native compiler, at the speed of
// hand-written checks.

import { types } from "node:util";
import { CallError } from "../errors.js";
import type { Schema } from "../native-binding.js";
import { native, runtime } from "../runtime.js";
import { compileEmitted, type EmittedCheck } from "./emitted.js";
import { encodeSchema } from "./encode.js";
import { type FastCheck, LONG_LIST, passesFastCheck, takeVisited } from "./fast-check.js";
import { LiveCallbacks } from "./live-callbacks.js";

/**
 * What is wrong with a value, and where (a JSON Pointer).
 *
 * @example
 * ```ts
 * const errors: ValueError[] = collectErrors(Type.Number(), "7");
 * errors[0]; // { path: "", message: "Expected number" }
 * ```
 */
export interface ValueError {
  path: string;
  message: string;
}

/** Something that normalisation had to do, or could not do, and that someone should know. */
export type NormaliseNote = ValueError;

export interface Normalised {
  value: unknown;
  notes: NormaliseNote[];
}

/** How to read a schema. */
interface CompileOptions {
  /** The draft of documents without `$schema`, by the URI of its meta-schema. */
  draft?: string;
  /** Whether known formats are asserted in JSON Schemas. */
  assertFormats?: boolean;
  /** OpenAPI 3.0's dialect. */
  openapi?: boolean;
  /** The schema comes from outside. */
  untrusted?: boolean;
  /** Documents that `$ref` may name, by URI. */
  documents?: Record<string, unknown>;
}

/** When a schema has earned JavaScript of its own, in steps of the native walk (one for each rule that is
 * visited, a tenth of a microsecond or a little more). Writing and compiling that JavaScript takes about as
 * long as so many steps: it depends on the length of the schema. Steps and not time, so that two runs of a
 * program do the same. */
const EARNED_AFTER = 300;
const EARNED_AFTER_EACH_CHARACTER = 0.5;

/** Normalising takes the native side so many times as long as the check whose steps it reports. */
const NORMALISING = 6;

/** How many errors are reported at most. */
const MAX_ERRORS = 1000;

type Tier = "walk" | "emitted" | "never";

/** One of the two emitted functions, or the walk until it has earned it. */
class Emittable {
  tier: Tier = "walk";
  walked = 0;
  run: EmittedCheck | undefined;
}

export class CompiledSchema {
  /** The program that the native side walks. */
  readonly native: Schema;
  readonly #callbacks: LiveCallbacks;
  readonly #check = new Emittable();
  readonly #exact = new Emittable();
  /** For the calls before a function is earned; null until it is first needed. */
  #fastCheck: FastCheck | undefined | null = null;
  readonly #earnedAfter: number;

  constructor(schema: unknown, options?: CompileOptions) {
    const { text, slots } = encodeSchema(schema);
    this.#earnedAfter = EARNED_AFTER + text.length * EARNED_AFTER_EACH_CHARACTER;
    this.native = new native.Schema(runtime, text, options && JSON.stringify(options));
    this.#callbacks = new LiveCallbacks(this.native, slots);
  }

  /** Whether the value passes. */
  check(value: unknown): boolean {
    const { run } = this.#check;
    return run === undefined ? this.#checkSlowly(value) : this.#runEmitted(run, value);
  }

  /** Whether the value passes and normalisation would return it untouched. May be false for such a value. */
  isExact(value: unknown): boolean {
    const { run } = this.#exact;
    if (run === undefined) return this.#isExactSlowly(value);
    try {
      return run(value);
    } catch (error) {
      if (isGivenUp(error) || isTooMuchWork(error)) return false;
      throw error;
    }
  }

  /** The errors of the value; empty if it passes. */
  errors(value: unknown, max = MAX_ERRORS): ValueError[] {
    if (this.#check.run === undefined) {
      try {
        return readPairs(this.native.errors(value, this.#callbacks, max, false));
      } catch (error) {
        if (!isTooMuchWork(error) || !this.#earns(this.#check, Infinity)) throw error;
      }
    }
    if (this.check(value)) return [];
    return readPairs(this.native.errors(value, this.#callbacks, max, true));
  }

  /** The value in the declared shape, as TypeBox's `Value.Cast` would have it, the whole value if need be; the same
   * value when it has it. With `keep` nothing is removed. */
  normalise(value: unknown, keep = false): Normalised {
    return this.#normalise(value, keep ? "keep" : "normalise", false);
  }

  /** What an operation gave, in the declared shape. What is of another kind altogether stays as it is. With `strict`
   * nothing is made up, and the notes are what is still wrong. */
  shape(value: unknown, mode: "normalise" | "keep" | "strict"): Normalised {
    return this.#normalise(value, mode, true);
  }

  #normalise(value: unknown, mode: "normalise" | "keep" | "strict", keepsRoot: boolean): Normalised {
    try {
      const outcome = this.native.normalise(value, this.#callbacks, mode, keepsRoot);
      const isAsDeclared = typeof outcome === "number";
      this.#exact.walked += (isAsDeclared ? outcome : outcome[2]) * NORMALISING;
      return isAsDeclared ? { value, notes: [] } : { value: outcome[0], notes: readPairs(outcome[1]) };
    } catch (error) {
      // A large value that has the declared shape need not be walked. With a function, that was checked before.
      if (!isTooMuchWork(error) || this.#exact.tier !== "walk") throw error;
      if (!this.#earns(this.#exact, Infinity) || !this.isExact(value)) throw error;
      return { value, notes: [] };
    }
  }

  /** The check on the other representation: JSON text, in Rust. */
  checkJson(text: string): boolean {
    return this.native.checkJson(text);
  }

  /** What is wrong with JSON text, found in Rust. */
  errorsJson(text: string, max = MAX_ERRORS): ValueError[] {
    return readPairs(this.native.errorsJson(text, max));
  }

  /** The native walk, whatever the schema has earned. */
  walk(value: unknown): boolean {
    return this.native.check(value, this.#callbacks, false) > 0;
  }

  /** The result of the fast check, whether or not the schema has a function: "it passes" (or, with `exactly`, "it is as declared"), or
   * "perhaps". */
  passesFastCheck(value: unknown, exactly: boolean): boolean {
    return this.#fits(exactly ? this.#exact : this.#check, value);
  }

  /** Compiles the emitted functions at once; says whether there are any. */
  warmUp(): { check: boolean; exact: boolean } {
    return { check: this.#earns(this.#check, Infinity), exact: this.#earns(this.#exact, Infinity) };
  }

  #checkSlowly(value: unknown): boolean {
    const check = this.#check;
    if (this.#fits(check, value)) return true;
    if (check.tier !== "walk") return this.walk(value);
    if (isLongList(value)) {
      this.#earns(check, Infinity);
      if (check.run !== undefined) return this.#runEmitted(check.run, value);
    }
    try {
      const steps = this.native.check(value, this.#callbacks, true);
      this.#earns(check, Math.abs(steps));
      return steps > 0;
    } catch (error) {
      if (!isTooMuchWork(error)) throw error;
    }
    // What is much for the walk may be little for code that was written for this schema.
    this.#earns(check, Infinity);
    return check.run === undefined ? this.walk(value) : this.#runEmitted(check.run, value);
  }

  #isExactSlowly(value: unknown): boolean {
    const exact = this.#exact;
    // What normalising took before counts too.
    return this.#earns(exact, 0) ? this.isExact(value) : this.#fits(exact, value);
  }

  /** Whether the value passes, exactly if need be, by the fast check of the schema. May be false for a value that passes. */
  #fits(emittable: Emittable, value: unknown): boolean {
    let check = this.#fastCheck;
    if (check === null) {
      const text = this.native.fastCheck();
      check = text == null ? undefined : (JSON.parse(text) as FastCheck);
      this.#fastCheck = check;
    }
    if (check === undefined) return false;
    const passes = passesFastCheck(check, value, emittable === this.#exact);
    this.#earns(emittable, takeVisited());
    return passes;
  }

  /** Adds to what was walked, and emits when that is enough. */
  #earns(emittable: Emittable, walked: number): boolean {
    emittable.walked += walked;
    if (emittable.tier === "walk" && emittable.walked >= this.#earnedAfter) {
      const what = emittable === this.#check ? "check" : "exact";
      emittable.run = compileEmitted(this.native, this.#callbacks, what);
      emittable.tier = emittable.run === undefined ? "never" : "emitted";
    }
    return emittable.tier === "emitted";
  }

  #runEmitted(run: EmittedCheck, value: unknown): boolean {
    try {
      return run(value);
    } catch (error) {
      if (isGivenUp(error)) return this.walk(value);
      throw error;
    }
  }
}

/** Thrown by emitted code that leaves the verdict to the walk, whose bounds are a little wider. */
export class GivenUp extends Error {}

function isGivenUp(error: unknown): boolean {
  return error instanceof GivenUp;
}

/** Proxies are left out: that would run the user's code once more than the check itself does. */
function isLongList(value: unknown): boolean {
  return (
    typeof value === "object" && !types.isProxy(value) && Array.isArray(value) && value.length >= LONG_LIST
  );
}

/** Whether the engine gave up on a value because it reached a bound. */
export function isLimit(error: unknown): error is CallError & { details: { limit: string } } {
  return (
    error instanceof CallError &&
    typeof (error.details as { limit?: unknown } | undefined)?.limit === "string"
  );
}

/** Whether it gave up because the schema, on this value, takes more work than a schema may. */
function isTooMuchWork(error: unknown): boolean {
  return isLimit(error) && (error.details.limit === "work" || error.details.limit === "backtracking");
}

/** Native lists of paths and sentences come as one JSON list of strings. */
function readPairs(text: string): ValueError[] {
  if (text === "[]") return [];
  const flat = JSON.parse(text) as string[];
  const pairs: ValueError[] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) {
    pairs.push({ path: flat[i] as string, message: flat[i + 1] as string });
  }
  return pairs;
}

const cache = new WeakMap<object, CompiledSchema>();

/** The compiled form of a schema, made at the first use. Schemas are taken as they are then:
 * later changes to the object are not seen. */
export function compiled(schema: object): CompiledSchema {
  let found = cache.get(schema);
  if (found === undefined) {
    found = new CompiledSchema(schema);
    cache.set(schema, found);
  }
  return found;
}
