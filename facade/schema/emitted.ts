// From emitted source to a function. Where the process forbids code generation there is no function, and the
// native walk serves.

import { types } from "node:util";
import type { Schema } from "../native-binding.js";
import { native } from "../runtime.js";
import { GivenUp } from "./compiled.js";
import type { LiveCallbacks } from "./live-callbacks.js";
import { formatFunction } from "./registries.js";

export type EmittedCheck = (value: unknown) => boolean;

/** What the native emitter says about its source. */
interface EmittedSource {
  readonly body: string;
  /** Source and flags. */
  readonly patterns: readonly (readonly [string, string])[];
  /** Ids and names. */
  readonly formats: readonly (readonly [number, string])[];
  /** Slots of the schemas. */
  readonly kinds: readonly number[];
  readonly consts: readonly EmittedConstant[];
}

type EmittedConstant =
  | readonly ["value", unknown]
  | readonly ["undefined"]
  | readonly ["number" | "bigint", string]
  /** A live value of the user's schema. */
  | readonly ["slot", number]
  /** Compared by the engine, which knows it by this id. */
  | readonly ["id", number];

/** Thrown by helpers where TypeBox's own check would throw: the whole value is then invalid. */
const invalid = {};

let codeGenerationForbidden = false;

/** The emitted function of a schema; none when it has none, or when code generation is forbidden. */
export function compileEmitted(
  schema: Schema,
  callbacks: LiveCallbacks,
  what: "check" | "exact",
): EmittedCheck | undefined {
  if (codeGenerationForbidden) return undefined;
  const text = schema.emit(what);
  if (text == null) return undefined;
  const source = JSON.parse(text) as EmittedSource;
  const patterns = regularExpressions(source);
  if (patterns === undefined) return undefined;
  try {
    // The text is written by the native emitter: names and constants of a schema appear in it only as
    // escaped string literals, and patterns not at all.
    return new Function("env", source.body)(environment(schema, callbacks, source, patterns)) as EmittedCheck;
  } catch (error) {
    if (!(error instanceof EvalError)) throw error;
    codeGenerationForbidden = true;
    return undefined;
  }
}

/** The patterns; `undefined` if one of them is not a regular expression. TypeBox throws when it reaches such a
 * one, and the walk knows what that means for the rest of the value. */
function regularExpressions({ patterns }: EmittedSource): RegExp[] | undefined {
  try {
    return patterns.map(([pattern, flags]) => new RegExp(pattern, flags));
  } catch {
    return undefined;
  }
}

/** What emitted code takes from outside. */
function environment(
  schema: Schema,
  callbacks: LiveCallbacks,
  source: EmittedSource,
  patterns: readonly RegExp[],
) {
  return {
    patterns,
    formats: source.formats.map(([id, name]) => formatCheck(schema, id, name)),
    kinds: source.kinds.map((slot) => (value: unknown) => orThrow(callbacks.testKind(slot, value))),
    consts: source.consts.map((constant) => liveConstant(constant, callbacks)),
    test: (pattern: number, text: string, work?: number) => schema.matches(pattern, text, work),
    walk: (node: number, value: unknown, work?: number) => schema.checkPart(value, callbacks, node, work),
    unique: (array: unknown[], work?: number) => schema.isUnique(array, callbacks, work),
    distinct: (array: unknown[], work?: number) => schema.isDistinct(array, callbacks, work),
    equal: (value: unknown, id: number, work?: number) => schema.equals(value, callbacks, id, work),
    multiple: native.isMultiple,
    isDate: types.isDate,
    isBytes: types.isUint8Array,
    isPromise: types.isPromise,
    invalid,
    giveUp: () => new GivenUp(),
    tooMuchWork: () => schema.tooMuchWork(),
  };
}

function liveConstant(constant: EmittedConstant, callbacks: LiveCallbacks): unknown {
  switch (constant[0]) {
    case "value":
      return constant[1];
    case "number":
      return Number(constant[1]);
    case "bigint":
      return BigInt(constant[1]);
    case "slot":
      return callbacks.slot(constant[1]);
    case "id":
      return constant[1];
    case "undefined":
      return undefined;
  }
}

function orThrow(verdict: boolean | null | undefined): boolean {
  if (verdict == null) throw invalid;
  return verdict;
}

/** The user's check of a format, or ours. Users register when they like, so it is looked up each time. Returns
 * the cost of the check, negative for a mismatch; a user's function counts as 1. */
function formatCheck(schema: Schema, id: number, name: string): (text: string, work?: number) => number {
  return (text, work) => {
    const custom = formatFunction(name);
    if (custom === undefined) return schema.hasFormat(id, text, work);
    return custom(text) ? 1 : -1;
  };
}
