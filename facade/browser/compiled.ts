// The counterpart of `schema/compiled.ts`: schemas on TypeBox's own interpreter, which needs neither native code nor
// `eval`.

import { type TSchema, TypeBoxError } from "@sinclair/typebox";
import { Errors } from "@sinclair/typebox/errors";
import { Check } from "@sinclair/typebox/value";
import { CallError, invalid } from "../errors.js";
import type { Normalised, ValueError } from "../schema/compiled.js";
import { Normalisation } from "./normalise.js";
import { readable } from "./readable.js";

export type { Normalised, NormaliseNote, ValueError } from "../schema/compiled.js";

/** How many errors are reported at most. */
const MAX_ERRORS = 1000;

export class CompiledSchema {
  readonly #schema: TSchema;

  constructor(schema: object) {
    this.#schema = readable(schema) as TSchema;
  }

  /** Whether the value passes. */
  check(value: unknown): boolean {
    return bounded(() => Check(this.#schema, value));
  }

  /** Whether the value passes and normalisation would return it untouched. That takes as long as normalising it. */
  isExact(_value: unknown): boolean {
    return false;
  }

  /** The errors of the value; empty if it passes. */
  errors(value: unknown, max = MAX_ERRORS): ValueError[] {
    return bounded(() => {
      const found: ValueError[] = [];
      for (const { path, message } of Errors(this.#schema, value)) {
        if (found.push({ path, message }) >= max) break;
      }
      return found;
    });
  }

  normalise(value: unknown, keep = false): Normalised {
    return bounded(() => new Normalisation(keep ? "keep" : "normalise", false).run(this.#schema, value));
  }

  shape(value: unknown, mode: "normalise" | "keep" | "strict"): Normalised {
    return bounded(() => {
      const normalised = new Normalisation(mode, true).run(this.#schema, value);
      if (mode !== "strict") return normalised;
      const { value: shaped } = normalised;
      return { value: shaped, notes: Check(this.#schema, shaped) ? [] : this.errors(shaped) };
    });
  }
}

/** Does work that goes as deep as a value or a schema does, and says so where that is too deep. */
function bounded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof RangeError) {
      throw invalid("the value is nested too deeply to be checked", { limit: "depth" });
    }
    if (error instanceof TypeBoxError) throw invalid(`TypeBox cannot read the schema: ${error.message}`);
    throw error;
  }
}

/** Whether the engine gave up on a value because it reached a bound. */
export function isLimit(error: unknown): error is CallError & { details: { limit: string } } {
  return (
    error instanceof CallError &&
    typeof (error.details as { limit?: unknown } | undefined)?.limit === "string"
  );
}

const cache = new WeakMap<object, CompiledSchema>();

/** What checks a schema, made at the first use. */
export function compiled(schema: object): CompiledSchema {
  let found = cache.get(schema);
  if (found === undefined) {
    found = new CompiledSchema(schema);
    cache.set(schema, found);
  }
  return found;
}
