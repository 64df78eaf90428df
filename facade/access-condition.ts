// Conditions of access rules: what a call must be like. The same as in `crates/operations-core/src/access/condition.rs`.

import { isListOf, isRecord, isString } from "./interop/options.js";

type Scalar = string | number | boolean;

/**
 * What must hold for a value of a call. If there is a list, each of its items must pass, and there must be one. A value that is
 * missing passes nothing.
 *
 * @example
 * ```ts
 * const test: AccessTest = { under: "/public" };
 * ```
 */
export interface AccessTest {
  /** The value is this one. */
  readonly equals?: Scalar;
  /** The value is one of these. */
  readonly oneOf?: readonly Scalar[];
  /** The text begins with this. For folders, use `under`. */
  readonly startsWith?: string;
  /** The text ends with this. */
  readonly endsWith?: string;
  /** The text is the path of this folder, or of something in it, without `..`. It is compared in letters: links are not followed. */
  readonly under?: string;
  /** The number is at least this. */
  readonly atLeast?: number;
  /** The number is at most this. */
  readonly atMost?: number;
  /** The value is also at this path, such as `identity.id`. */
  readonly sameAs?: string;
  /** The value is a list, and this is one of its items. */
  readonly contains?: Scalar;
}

/**
 * Paths (`input.path`, `identity.id`, `identity.claims.tenant`) to what must hold there; a plain value means `equals`. All must hold.
 *
 * @example
 * ```ts
 * const ownFiles: AccessCondition = { "input.path": { under: "/public" }, "input.tenant": { sameAs: "identity.claims.tenant" } };
 * ```
 */
export interface AccessCondition {
  readonly [path: string]: AccessTest | Scalar;
}

/** In place of an input: there is no call yet, and what depends on its input counts as met. */
export const ANY_INPUT: unique symbol = Symbol("any input");

type Conditions = AccessCondition | readonly AccessCondition[];
interface Subject {
  readonly input: unknown;
  readonly identity: unknown;
}

/** The paths of conditions of which none is met; `undefined` if one is. */
export function unmetPaths(when: Conditions, subject: Subject): string[] | undefined {
  const all = [when].flat() as AccessCondition[];
  if (all.some((condition) => isMet(condition, subject))) return undefined;
  return [...new Set(all.flatMap((condition) => Object.keys(Object(condition))))];
}

function isMet(condition: AccessCondition, subject: Subject): boolean {
  const tests = isRecord(condition) ? Object.entries(condition) : [];
  return tests.length > 0 && tests.every(([path, test]) => passes(valueAt(path, subject), test, subject));
}

function valueAt(path: unknown, subject: Subject): unknown {
  let value: unknown = subject;
  for (const name of String(path).split(".")) {
    if (value === ANY_INPUT) return value;
    if (!isRecord(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

function passes(value: unknown, test: unknown, subject: Subject): boolean {
  if (value === ANY_INPUT) return true;
  if (!isRecord(test)) return eachPasses(value, "equals", test);
  return Object.entries(test).every(([name, expected]) => {
    if (name === "contains") return Array.isArray(value) && value.some((item) => isSame(item, expected));
    if (name !== "sameAs") return eachPasses(value, name, expected);
    const other = valueAt(expected, subject);
    return other === ANY_INPUT || eachPasses(value, "equals", other);
  });
}

/** Of a list, each item must pass, and there must be one. */
function eachPasses(value: unknown, name: string, expected: unknown): boolean {
  const test = TESTS.get(name);
  const values = Array.isArray(value) ? value : [value];
  return test !== undefined && values.length > 0 && values.every((each) => test(each, expected));
}

const onTexts = (test: (text: string, expected: string) => boolean) => (value: unknown, expected: unknown) =>
  isString(value) && isString(expected) && test(value, expected);
const onNumbers =
  (test: (number: number, expected: number) => boolean) => (value: unknown, expected: unknown) =>
    typeof value === "number" && typeof expected === "number" && test(value, expected);

const TESTS = new Map<string, (value: unknown, expected: unknown) => boolean>([
  ["equals", isSame],
  ["oneOf", (value, all) => Array.isArray(all) && all.some((each) => isSame(value, each))],
  ["startsWith", onTexts((text, start) => text.startsWith(start))],
  ["endsWith", onTexts((text, end) => text.endsWith(end))],
  ["under", onTexts(isUnder)],
  ["atLeast", onNumbers((number, least) => number >= least)],
  ["atMost", onNumbers((number, most) => number <= most)],
]);

const isScalar = (value: unknown): value is Scalar => ["string", "number", "boolean"].includes(typeof value);

/** Objects, lists and null are never the same. */
function isSame(one: unknown, other: unknown): boolean {
  return isScalar(one) && one === other;
}

/** Whether a path is that of a folder or leads into it, in letters: without `..`, and without characters that some systems read
 * as a separator. */
function isUnder(path: string, folder: string): boolean {
  const base = folder.replace(/\/$/, "");
  return (
    path !== "" &&
    (path === base || path.startsWith(`${base}/`)) &&
    !/\\|\0|%2e|%2f|%5c/i.test(path) &&
    !path.split("/").some((name) => /^\.+ *$/.test(name))
  );
}

const PATH = /^(input(\.[^.]+)*|identity\.(id|scopes|resources(\.[^.]+)?|claims(\.[^.]+)+))$/;
const isPath = (value: unknown) => isString(value) && PATH.test(value);
const isNumber = (value: unknown) => Number.isFinite(value);

const EXPECTED: Readonly<
  Record<keyof AccessTest, readonly [is: (value: unknown) => boolean, words: string]>
> = {
  equals: [isScalar, "a text, a number, true or false"],
  oneOf: [(value) => isListOf(value, isScalar), "a list of texts, numbers, true or false"],
  startsWith: [isString, "a text"],
  endsWith: [isString, "a text"],
  under: [(value) => isString(value) && value !== "", "a folder"],
  atLeast: [isNumber, "a number"],
  atMost: [isNumber, "a number"],
  sameAs: [isPath, "a path such as identity.id or input.owner"],
  contains: [isScalar, "a text, a number, true or false"],
};

/** What is wrong with `when`, and where (a JSON pointer). */
export function conditionFlaw(when: unknown): { path: string; message: string } | undefined {
  if (Array.isArray(when) && when.length === 0) return { path: "", message: "must have a condition" };
  for (const [index, condition] of [when].flat().entries()) {
    const at = Array.isArray(when) ? `/${index}` : "";
    if (!isRecord(condition) || Object.keys(condition).length === 0) {
      return { path: at, message: 'must be an object such as { "input.path": { under: "/public" } }' };
    }
    for (const [path, test] of Object.entries(condition)) {
      if (!isPath(path)) {
        const words =
          "is no path: begin with input, or with identity.id, identity.scopes, identity.resources or identity.claims";
        return { path: `${at}/${path}`, message: words };
      }
      const flaw = testFlaw(test);
      if (flaw !== undefined) return { path: `${at}/${path}`, message: flaw };
    }
  }
  return undefined;
}

function testFlaw(test: unknown): string | undefined {
  if (isScalar(test)) return undefined;
  const names = Object.keys(EXPECTED);
  const tests = isRecord(test) ? Object.entries(test) : [];
  if (tests.length === 0) return `must be a value, or an object with ${names.join(", ")}`;
  for (const [name, expected] of tests) {
    const known = Object.hasOwn(EXPECTED, name) ? EXPECTED[name as keyof AccessTest] : undefined;
    if (known === undefined)
      return `has ${name.slice(0, 64)}, which is no test: there are ${names.join(", ")}`;
    if (!known[0](expected)) return `${name} must be ${known[1]}`;
  }
  return undefined;
}
