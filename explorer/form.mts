// What is in a form: one part for each field, which knows its value. What a field cannot hold, it holds as JSON text, so that
// nothing of a value is lost on its way into a form and out again. No DOM: tested without a browser.

import {
  type Field,
  fieldOf,
  isRecord,
  type Property,
  type Root,
  type Schema,
  type Shape,
} from "./schema.mjs";
import { fits, sameValue } from "./schema-fits.mjs";
import { tokenOf } from "./schema-root.mjs";

/** Why a form has no value. */
export interface Problem {
  /** A JSON pointer. */
  readonly path: string;
  readonly message: string;
}

/** Deeper fields are JSON text: a schema can contain itself. */
const DEEPEST = 12;
/** How many items a list begins with, at most. */
const MOST_AT_FIRST = 8;
/** How many fields are made at a time for what has to be there: a schema can ask for itself several times. */
const MOST_FIELDS = 400;

/** How many fields may still be made. */
interface Budget {
  left: number;
}

/** A field of a form. */
export abstract class Part<S extends Shape = Shape> {
  readonly field: Field;
  readonly shape: S;
  readonly root: Root;
  readonly depth: number;
  /** Whether its value is `null`, where it may be. */
  isNull = false;
  /** Its value as JSON text, where it is not in the fields. */
  json: string | undefined;

  constructor(field: Field, root: Root, depth: number) {
    this.field = field;
    this.shape = field.shape as S;
    this.root = root;
    this.depth = depth;
  }

  /** Its value. What is wrong with it is added to `problems`. */
  read(path: string, problems: Problem[]): unknown {
    if (this.isNull) return null;
    if (this.json === undefined) return this.readFields(path, problems);
    try {
      return JSON.parse(this.json);
    } catch (error) {
      problems.push({ path, message: `This is not JSON: ${error instanceof Error ? error.message : error}` });
      return undefined;
    }
  }

  /** Takes a value. */
  write(value: unknown): void {
    this.json = undefined;
    this.isNull = value === null && this.field.isNullable;
    if (this.isNull) return;
    if (!this.takes(value)) this.json = JSON.stringify(value, undefined, 2);
  }

  /** Shows its value as JSON text, or as fields again. */
  toggleJson(): void {
    const problems: Problem[] = [];
    const value = this.read("", problems);
    if (this.json === undefined) {
      this.isNull = false;
      this.json = JSON.stringify(value, undefined, 2) ?? "";
    } else if (problems.length === 0) this.write(value);
  }

  protected abstract readFields(path: string, problems: Problem[]): unknown;
  /** Takes a value into its fields, and says whether it could. */
  protected abstract takes(value: unknown): boolean;
}

/** A field whose value is one text that is typed. */
export class TextPart extends Part<Extract<Shape, { kind: "string" | "number" }>> {
  text = "";

  protected override readFields(path: string, problems: Problem[]): unknown {
    if (this.shape.kind === "string") return this.text;
    const number = numberOf(this.text, this.shape.isInteger);
    if (typeof number === "string") problems.push({ path, message: number });
    return number;
  }

  protected override takes(value: unknown): boolean {
    if (!fits(value, this.field, this.root)) return false;
    this.text = String(value);
    return true;
  }
}

/** A number; or what is wrong with its text. */
export function numberOf(text: string, isInteger: boolean): number | string {
  const trimmed = text.trim();
  if (trimmed === "") return "A number is needed";
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed)) return "This is not a number";
  const number = Number(trimmed);
  if (!Number.isFinite(number)) return "This number is too large";
  if (isInteger && !Number.isInteger(number)) return "A whole number is needed";
  if (
    Number.isInteger(number) &&
    !Number.isSafeInteger(number) &&
    BigInt(number).toString() !== trimmed.replace(/^\+/, "")
  ) {
    return "This number has more digits than JavaScript can hold. Type it as JSON instead";
  }
  return number;
}

export class BooleanPart extends Part<Extract<Shape, { kind: "boolean" }>> {
  value = false;

  protected override readFields(): unknown {
    return this.value;
  }

  protected override takes(value: unknown): boolean {
    if (typeof value !== "boolean") return false;
    this.value = value;
    return true;
  }
}

export class ChoicePart extends Part<Extract<Shape, { kind: "choice" }>> {
  index = 0;

  protected override readFields(): unknown {
    return this.shape.options[this.index];
  }

  protected override takes(value: unknown): boolean {
    const index = this.shape.options.findIndex((option) => sameValue(option, value));
    if (index === -1) return false;
    this.index = index;
    return true;
  }
}

/** A field whose value is known: a constant, or null. */
export class KnownPart extends Part<Extract<Shape, { kind: "constant" | "null" | "nothing" }>> {
  get value(): unknown {
    if (this.shape.kind === "constant") return this.shape.value;
    return this.shape.kind === "null" ? null : undefined;
  }

  protected override readFields(): unknown {
    return this.value;
  }

  protected override takes(value: unknown): boolean {
    return sameValue(value, this.value);
  }
}

/** Binary data, which travels as `{ "$bytes": "<base64>" }`. */
export class BytesPart extends Part<Extract<Shape, { kind: "bytes" }>> {
  /** What is in the file; nothing before one is chosen. */
  base64: string | undefined;
  /** Its name and size, for people. */
  name = "";

  protected override readFields(path: string, problems: Problem[]): unknown {
    if (this.base64 === undefined) problems.push({ path, message: "Choose a file" });
    return this.base64 === undefined ? undefined : { $bytes: this.base64 };
  }

  protected override takes(value: unknown): boolean {
    if (!isRecord(value) || typeof value.$bytes !== "string") return false;
    this.base64 = value.$bytes;
    this.name = "Binary data";
    return true;
  }
}

export class AnyPart extends Part<Extract<Shape, { kind: "any" }>> {
  override json: string | undefined = "null";

  protected override readFields(): unknown {
    return null;
  }

  protected override takes(): boolean {
    return false;
  }
}

/** A property, which may be left out. */
export interface Member {
  readonly property: Property;
  /** Nothing while it is left out. */
  part: Part | undefined;
}

/** A name that is typed, and its value. */
export interface Entry {
  name: string;
  readonly part: Part;
}

export class ObjectPart extends Part<Extract<Shape, { kind: "object" | "record" }>> {
  members: Member[] = [];
  /** Properties that the schema does not name. */
  entries: Entry[] = [];

  /** What other properties have to be; nothing where there can be none. */
  get rest(): Schema | undefined {
    return this.shape.kind === "record" ? this.shape.values : this.shape.rest;
  }

  include(member: Member, budget?: Budget): Part {
    member.part ??= partFor(member.property.schema, this.root, this.depth + 1, budget);
    return member.part;
  }

  addEntry(name = ""): void {
    this.entries.push({ name, part: partFor(this.rest ?? true, this.root, this.depth + 1) });
  }

  protected override readFields(path: string, problems: Problem[]): unknown {
    // By entries: a property can be called `__proto__`.
    const values: [string, unknown][] = [];
    for (const { property, part } of this.members) {
      if (part === undefined) continue;
      const value = part.read(`${path}/${tokenOf(property.name)}`, problems);
      if (value !== undefined) values.push([property.name, value]);
    }
    for (const { name, part } of this.entries) {
      const at = `${path}/${tokenOf(name)}`;
      if (values.some(([other]) => other === name))
        problems.push({ path: at, message: `${name} is there twice` });
      values.push([name, part.read(at, problems)]);
    }
    return Object.fromEntries(values);
  }

  protected override takes(value: unknown): boolean {
    if (!isRecord(value)) return false;
    const others = Object.keys(value).filter(
      (name) => !this.members.some(({ property }) => property.name === name),
    );
    // What the server will refuse is shown as it is.
    if (others.length > 0 && this.shape.kind === "object" && !this.shape.isOpen && this.rest === undefined)
      return false;
    for (const member of this.members) {
      const { name, isRequired } = member.property;
      if (!Object.hasOwn(value, name)) {
        if (isRequired) return false;
        member.part = undefined;
      } else member.part = partWith(value[name], member.property.schema, this);
    }
    this.entries = others.map((name) => ({ name, part: partWith(value[name], this.rest ?? true, this) }));
    return true;
  }
}

export class ListPart extends Part<Extract<Shape, { kind: "list" | "tuple" }>> {
  items: Part[] = [];

  /** Whether there can be one more. */
  get canGrow(): boolean {
    return this.schemaAt(this.items.length) !== undefined;
  }

  /** Whether there can be one less. */
  get canShrink(): boolean {
    return this.items.length > (this.shape.kind === "tuple" ? this.shape.items.length : 0);
  }

  schemaAt(index: number): Schema | undefined {
    if (this.shape.kind === "tuple") return this.shape.items[index] ?? this.shape.rest;
    return index < this.shape.most ? this.shape.items : undefined;
  }

  add(budget?: Budget): Part | undefined {
    const schema = this.schemaAt(this.items.length);
    if (schema === undefined) return undefined;
    const part = partFor(schema, this.root, this.depth + 1, budget);
    this.items.push(part);
    return part;
  }

  protected override readFields(path: string, problems: Problem[]): unknown {
    return this.items.map((item, index) => item.read(`${path}/${index}`, problems));
  }

  protected override takes(value: unknown): boolean {
    if (!Array.isArray(value)) return false;
    const items: Part[] = [];
    for (const [index, each] of value.entries()) {
      const schema = this.schemaAt(index);
      if (schema === undefined) return false;
      items.push(partWith(each, schema, this));
    }
    if (this.shape.kind === "tuple" && items.length < this.shape.items.length) return false;
    this.items = items;
    return true;
  }
}

export class UnionPart extends Part<Extract<Shape, { kind: "union" }>> {
  index = 0;
  part: Part | undefined;

  choose(index: number, budget?: Budget): void {
    this.index = index;
    this.part = partFor(this.shape.variants[index]?.schema ?? true, this.root, this.depth + 1, budget);
  }

  protected override readFields(path: string, problems: Problem[]): unknown {
    return this.part?.read(path, problems);
  }

  protected override takes(value: unknown): boolean {
    const index = this.shape.variants.findIndex(({ schema }) =>
      fits(value, fieldOf(schema, this.root), this.root),
    );
    if (index === -1) return false;
    this.index = index;
    this.part = partWith(value, this.shape.variants[index]?.schema ?? true, this);
    return true;
  }
}

/** The part for a value, inside another. */
function partWith(value: unknown, schema: Schema, { root, depth }: Part): Part {
  const part = emptyPart(fieldOf(schema, root), root, depth + 1);
  part.write(value);
  return part;
}

/** The part for a schema, with what it begins with. */
export function partFor(schema: Schema, root: Root, depth = 0, budget: Budget = { left: MOST_FIELDS }): Part {
  const field = fieldOf(schema, root);
  const part = emptyPart(field, root, depth);
  if (field.default !== undefined) {
    part.write(field.default);
    return part;
  }
  const isComposite = part instanceof ObjectPart || part instanceof ListPart || part instanceof UnionPart;
  if (!isComposite) return part;
  if (depth > 0 && field.isNullable) part.isNull = true;
  else if (depth > DEEPEST || budget.left <= 0) part.json = "null";
  else begin(part, budget);
  return part;
}

function emptyPart(field: Field, root: Root, depth: number): Part {
  switch (field.shape.kind) {
    case "string":
    case "number":
      return new TextPart(field, root, depth);
    case "boolean":
      return new BooleanPart(field, root, depth);
    case "choice":
      return new ChoicePart(field, root, depth);
    case "constant":
    case "null":
    case "nothing":
      return new KnownPart(field, root, depth);
    case "bytes":
      return new BytesPart(field, root, depth);
    case "object":
    case "record": {
      const part = new ObjectPart(field, root, depth);
      const properties = field.shape.kind === "object" ? field.shape.properties : [];
      part.members = properties.map((property) => ({ property, part: undefined }));
      return part;
    }
    case "list":
    case "tuple":
      return new ListPart(field, root, depth);
    case "union":
      return new UnionPart(field, root, depth);
    case "any":
      return new AnyPart(field, root, depth);
  }
}

/** What has to be there is there. Called when a part that was null, or left out, gets a value. */
export function begin(part: Part, budget: Budget = { left: MOST_FIELDS }): void {
  budget.left -= 1;
  if (part instanceof ObjectPart) {
    for (const member of part.members) if (member.property.isRequired) part.include(member, budget);
  } else if (part instanceof ListPart) {
    const least =
      part.shape.kind === "tuple" ? part.shape.items.length : Math.min(part.shape.least, MOST_AT_FIRST);
    while (part.items.length < least && part.add(budget) !== undefined);
  } else if (part instanceof UnionPart && part.part === undefined) part.choose(0, budget);
}
