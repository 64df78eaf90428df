// Values next to the stencil of a schema: one function for all schemas, for the calls before a schema has earned a function
// of its own. `crates/operations-schema/src/emit/stencil.rs` writes stencils and says what they mean.

/** The stencil of a schema: a number, or a list that begins with one. */
export type Stencil = number | readonly unknown[];

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

// What becomes of the undeclared properties of an object.
const REMOVED = 0;
const FORBIDDEN = 2;

/** A list of so many elements is worth a function of its own: the walk takes longer than that takes to be made. */
export const LONG_LIST = 200;

/** How many properties and elements were looked at so far. */
let looks = 0;

/** How many were looked at since this was last asked. */
export function takeLooks(): number {
  const taken = looks;
  looks = 0;
  return taken;
}

/** Whether a value passes; with `exactly`, and normalisation would return it untouched. May say no wrongly: the native walk
 * then decides. */
export function fits(stencil: Stencil, value: unknown, exactly: boolean): boolean {
  if (typeof stencil === "number") return isSimple(stencil, value);
  const form = stencil[0];
  if (form === OBJECT) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
    const names = stencil[1] as readonly string[];
    const parts = stencil[2] as readonly Stencil[];
    const optional = stencil[3] as readonly number[];
    looks += names.length + 1;
    for (let i = 0; i < names.length; i++) {
      const property = (value as Record<string, unknown>)[names[i] as string];
      if (property === undefined) {
        // One that may be `undefined`, but not missing, is for the walk.
        if (optional[i] === 0) return false;
      } else {
        const part = parts[i] as Stencil;
        const passes = typeof part === "number" ? isSimple(part, property) : fits(part, property, exactly);
        if (!passes) return false;
      }
    }
    const others = stencil[4];
    if (others === REMOVED) {
      if (exactly) for (const name in value) if (!names.includes(name)) return false;
    } else if (others === FORBIDDEN) {
      for (const name of Object.getOwnPropertyNames(value)) if (!names.includes(name)) return false;
    }
    return true;
  }
  if (form === LIST) {
    if (!Array.isArray(value) || value.length >= LONG_LIST || !isWithin(value.length, stencil, 2))
      return false;
    const part = stencil[1] as Stencil;
    looks += value.length + 1;
    for (let i = 0; i < value.length; i++) if (!fits(part, value[i], exactly)) return false;
    return true;
  }
  return isScalar(form, stencil, value);
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

function isScalar(form: unknown, stencil: readonly unknown[], value: unknown): boolean {
  if (form === CONSTANTS) return stencil.indexOf(value, 1) > 0;
  if (form === EITHER) {
    for (let i = 1; i < stencil.length; i++) if (fits(stencil[i] as Stencil, value, true)) return true;
    return false;
  }
  if (form === STRING_OF_LENGTH) return typeof value === "string" && isWithin(value.length, stencil, 1);
  return (
    isSimple(stencil[1] as number, value) &&
    isWithin(value as number, stencil, 2) &&
    isInside(value as number, stencil)
  );
}

/** Whether a number is between the two bounds at that place, or equal to one. */
function isWithin(size: number, stencil: readonly unknown[], at: number): boolean {
  const least = stencil[at] as number | null;
  const greatest = stencil[at + 1] as number | null;
  return (least === null || size >= least) && (greatest === null || size <= greatest);
}

/** Whether a number is between the exclusive bounds of its stencil. */
function isInside(value: number, stencil: readonly unknown[]): boolean {
  const above = stencil[4] as number | null;
  const below = stencil[5] as number | null;
  return (above === null || value > above) && (below === null || value < below);
}
