// Fast checks: one interpreter for all schemas, used until a schema is called often enough to get a generated function.
// `crates/operations-schema/src/emit/fast_check.rs` writes the fast check of a schema and documents its format.

/** The fast check of a schema: a number, or a list that begins with one. */
export type FastCheck = number | readonly unknown[];

// What has that type.
const ANYTHING = 0;
const STRING = 1;
const NUMBER = 2;
const INTEGER = 3;
const BOOLEAN = 4;

// How a list begins.
const OBJECT = 0;
const LIST = 1;
const CONSTANTS = 2;
const EITHER = 3;
const STRING_OF_LENGTH = 4;

// What happens to the undeclared properties of an object.
const REMOVED = 0;
const FORBIDDEN = 2;

/** A list of so many elements is worth a function of its own: the walk takes longer than that takes to be made. */
export const LONG_LIST = 200;

/** How many properties and elements were visited so far. */
let visited = 0;

/** How many were visited since the last call. */
export function takeVisited(): number {
  const taken = visited;
  visited = 0;
  return taken;
}

/** Whether a value passes; with `exactly`, and normalisation would return it untouched. May be false for a valid value: the
 * native walk then decides. */
export function passesFastCheck(check: FastCheck, value: unknown, exactly: boolean): boolean {
  if (typeof check === "number") return isSimple(check, value);
  const form = check[0];
  if (form === OBJECT) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
    const names = check[1] as readonly string[];
    const parts = check[2] as readonly FastCheck[];
    const optional = check[3] as readonly number[];
    visited += names.length + 1;
    for (let i = 0; i < names.length; i++) {
      const property = (value as Record<string, unknown>)[names[i] as string];
      if (property === undefined) {
        // One that may be `undefined`, but not missing, is for the walk.
        if (optional[i] === 0) return false;
      } else {
        const part = parts[i] as FastCheck;
        const passes =
          typeof part === "number" ? isSimple(part, property) : passesFastCheck(part, property, exactly);
        if (!passes) return false;
      }
    }
    const others = check[4];
    if (others === REMOVED) {
      if (exactly) for (const name in value) if (!names.includes(name)) return false;
    } else if (others === FORBIDDEN) {
      for (const name of Object.getOwnPropertyNames(value)) if (!names.includes(name)) return false;
    }
    return true;
  }
  if (form === LIST) {
    if (!Array.isArray(value) || value.length >= LONG_LIST || !isWithin(value.length, check, 2)) return false;
    const part = check[1] as FastCheck;
    visited += value.length + 1;
    for (let i = 0; i < value.length; i++) if (!passesFastCheck(part, value[i], exactly)) return false;
    return true;
  }
  return isScalar(form, check, value);
}

function isSimple(type: number, value: unknown): boolean {
  switch (type) {
    case ANYTHING:
      return true;
    case STRING:
      return typeof value === "string";
    case NUMBER:
      return Number.isFinite(value);
    case INTEGER:
      return Number.isInteger(value);
    case BOOLEAN:
      return typeof value === "boolean";
    default:
      return value === null;
  }
}

function isScalar(form: unknown, check: readonly unknown[], value: unknown): boolean {
  if (form === CONSTANTS) return check.indexOf(value, 1) > 0;
  if (form === EITHER) {
    for (let i = 1; i < check.length; i++)
      if (passesFastCheck(check[i] as FastCheck, value, true)) return true;
    return false;
  }
  if (form === STRING_OF_LENGTH) return typeof value === "string" && isWithin(value.length, check, 1);
  return (
    isSimple(check[1] as number, value) &&
    isWithin(value as number, check, 2) &&
    isInside(value as number, check)
  );
}

/** Whether a number is between the two bounds at that index, or equal to one. */
function isWithin(size: number, check: readonly unknown[], at: number): boolean {
  const least = check[at] as number | null;
  const greatest = check[at + 1] as number | null;
  return (least === null || size >= least) && (greatest === null || size <= greatest);
}

/** Whether a number is between the exclusive bounds of its fast check. */
function isInside(value: number, check: readonly unknown[]): boolean {
  const above = check[4] as number | null;
  const below = check[5] as number | null;
  return (above === null || value > above) && (below === null || value < below);
}
