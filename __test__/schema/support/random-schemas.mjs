// biome-ignore-all lint/suspicious/noTemplateCurlyInString: template marks in ordinary strings are what is tested.

// Random TypeBox schemas: every kind, nested, with options, and with hostile names and constants.
//
// What is left out on purpose, because TypeBox's own answer depends on how it happens to walk:
// - two schemas with the same `$id` (TypeBox takes the one it met first),
// - references that lead back to the same value (TypeBox overflows its stack),
// - a property `__proto__` in a schema that TypeBox copied (it became the copy's prototype),
// - what TypeBox computes from a property called `toString` and the like (it takes the inherited one),
// - references out of a constructor (a class is the `constructor` of its own prototype: no end),
// - references to a `$id` that does not enclose them (TypeBox finds it if it was visited before).

import { types } from "node:util";
import { Kind, TransformKind, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { LeafMaker } from "./random-leaves.mjs";
import { nearValue } from "./random-values.mjs";
import { HOSTILE_NAMES, PATTERNS, PLAIN_NAMES, PROTOTYPE_NAMES } from "./random-words.mjs";

const MAX_DEPTH = 4;

let nextId = 0;

export class SchemaMaker {
  #random;
  #plain;
  #leaves;

  constructor(random) {
    this.#random = random;
    // Without constraints and special kinds there is more to compare with TypeBox's Cast.
    this.#plain = random.chance(0.25);
    this.#leaves = new LeafMaker(random, this.#plain);
  }

  make() {
    for (;;) {
      const schema = this.#root();
      if (isSound(schema)) return schema;
    }
  }

  #root() {
    return this.#any({ depth: this.#random.pick([1, 2, 2, 3, MAX_DEPTH]), open: [], reachable: [] });
  }

  /** A schema. `place` says how much deeper it may go, which `$id`s enclose it (`open`), and which of
   * them lie at least one container above (`reachable`). */
  #any(place) {
    const random = this.#random;
    const nested = place.depth > 0 && random.chance(0.72);
    let schema = nested ? this.#container(place) : this.#leaves.make(place.reachable);
    if (random.chance(0.03)) {
      const inner = schema;
      schema = Type.Transform(inner)
        .Decode((value) => value)
        .Encode((value) => value);
    }
    return random.chance(0.08) ? this.#withDefault(schema) : schema;
  }

  /** A default that passes, mostly. */
  #withDefault(schema) {
    const random = this.#random;
    const value = nearValue(random, schema);
    if (!isCloneable(value) || (!passes(schema, value) && !random.chance(0.1))) return schema;
    return { ...schema, default: value };
  }

  #name() {
    return this.#random.weighted([
      [10, () => this.#random.pick(PLAIN_NAMES)],
      [3, () => this.#random.pick(HOSTILE_NAMES)],
      [1, () => this.#random.pick(PROTOTYPE_NAMES)],
    ])();
  }

  #container(place) {
    if (this.#plain) return this.#plainContainer(place);
    return this.#random.weighted([
      [14, () => this.#object(place)],
      [6, () => this.#array(place)],
      [3, () => this.#tuple(place)],
      [4, () => this.#record(place)],
      [6, () => this.#union(place)],
      [4, () => this.#intersect(place)],
      [1, () => Type.Not(this.#any(same(place)))],
      [1, () => Type.Constructor([], this.#any({ ...below(place), open: [], reachable: [] }))],
      [2, () => this.#recursive(place)],
      [1, () => this.#module(place)],
      [1, () => this.#composite(place)],
      [1, () => this.#derived(place)],
    ])();
  }

  #plainContainer(place) {
    return this.#random.weighted([
      [8, () => this.#object(place)],
      [3, () => Type.Array(this.#any(below(place)))],
      [1, () => this.#tuple(place)],
      [2, () => Type.Record(Type.String(), this.#any(below(place)))],
      [4, () => this.#union(place)],
      [1, () => this.#recursive(place)],
    ])();
  }

  #properties(place, most = 5) {
    const random = this.#random;
    const properties = {};
    for (let left = random.between(0, most); left > 0; left--) {
      const schema = random.weighted([
        [10, (each) => each],
        [5, (each) => Type.Optional(each)],
        [1, (each) => Type.Readonly(each)],
        [1, (each) => Type.ReadonlyOptional(each)],
      ])(this.#any(below(place)));
      Object.defineProperty(properties, this.#name(), {
        value: schema,
        enumerable: true,
        writable: true,
        configurable: true,
      });
    }
    return properties;
  }

  #objectOptions(place) {
    const random = this.#random;
    const options = {};
    if (this.#plain) return options;
    if (random.chance(0.3)) {
      options.additionalProperties = random.weighted([
        [4, () => false],
        [1, () => true],
        [3, () => this.#any(below(place))],
      ])();
    }
    if (random.chance(0.08)) options.minProperties = random.between(0, 4);
    if (random.chance(0.08)) options.maxProperties = random.between(0, 4);
    return options;
  }

  #object(place) {
    return this.#identified(place, (inner) =>
      Type.Object(this.#properties(inner), this.#objectOptions(inner)),
    );
  }

  #array(place) {
    const random = this.#random;
    return this.#identified(place, (inner) => {
      const options = {};
      if (random.chance(0.15)) options.minItems = random.between(0, 3);
      if (random.chance(0.15)) options.maxItems = random.between(0, 4);
      if (random.chance(0.12)) options.uniqueItems = random.chance(0.9);
      if (random.chance(0.12)) {
        options.contains = this.#any({ ...below(inner), depth: Math.min(1, inner.depth - 1) });
      }
      if (random.chance(0.06)) options.minContains = random.between(0, 2);
      if (random.chance(0.06)) options.maxContains = random.between(0, 2);
      return Type.Array(this.#any(below(inner)), options);
    });
  }

  #tuple(place) {
    return Type.Tuple(this.#random.times(0, 4, () => this.#any(below(place))));
  }

  #record(place) {
    const random = this.#random;
    const key = random.weighted([
      [5, () => Type.String()],
      [2, () => Type.Number()],
      [1, () => Type.Integer()],
      [2, () => Type.String({ pattern: random.pick(PATTERNS).pattern })],
      [1, () => Type.TemplateLiteral("k${number}")],
      [1, () => Type.Union([Type.Literal("a"), Type.Literal("b")])],
      [0.5, () => Type.Any()],
    ])();
    return this.#identified(place, (inner) =>
      Type.Record(key, this.#any(below(inner)), this.#objectOptions(inner)),
    );
  }

  #union(place) {
    const random = this.#random;
    if (random.chance(0.35)) {
      // What people write most: a discriminated union.
      const name = random.pick(["kind", "type", this.#name()]);
      const variant = (index) =>
        Type.Object({ [name]: Type.Literal(`v${index}`), ...this.#properties(place, 3) });
      return Type.Union(random.times(1, 4, variant));
    }
    return Type.Union(random.times(0, 4, () => this.#any(same(place))));
  }

  #intersect(place) {
    const random = this.#random;
    const options = {};
    if (random.chance(0.3)) {
      options.unevaluatedProperties = random.chance(0.7) ? false : this.#any(below(place));
    }
    const part = () =>
      random.chance(0.8) ? Type.Object(this.#properties(place, 3)) : this.#any(same(place));
    // With a schema for the rest TypeBox also checks the positions and the length of arrays and strings;
    // an object among the parts keeps these out.
    const parts = [...random.times(0, 3, part), ...(options.unevaluatedProperties ? [Type.Object({})] : [])];
    // TypeBox refuses to intersect transforms.
    return Type.Intersect(parts.some((each) => TransformKind in each) ? [] : parts, options);
  }

  #recursive(place) {
    const $id = `R${nextId++}`;
    return Type.Recursive(
      (self) => {
        const inner = { ...place, open: [...place.open, $id] };
        const parts = {
          ...this.#properties(inner, 3),
          next: Type.Optional(self),
          list: Type.Optional(Type.Array(self)),
        };
        return this.#random.chance(0.7)
          ? Type.Object(parts)
          : Type.Union([Type.Object(parts), this.#leaves.make()]);
      },
      { $id },
    );
  }

  #module(place) {
    const [first, second] = [`M${nextId++}`, `M${nextId++}`];
    const module = Type.Module({
      [first]: Type.Object({
        ...this.#properties(place, 2),
        other: Type.Optional(Type.Ref(second)),
      }),
      [second]: this.#random.chance(0.5)
        ? Type.Array(Type.Ref(first))
        : Type.Object({ back: Type.Ref(first), plain: this.#leaves.make(place.reachable) }),
    });
    return module.Import(this.#random.pick([first, second]));
  }

  #composite(place) {
    const parts = this.#random.times(1, 3, () => Type.Object(this.#properties(place, 3)));
    try {
      return Type.Composite(parts);
    } catch {
      return parts[0]; // Two transforms of one name.
    }
  }

  /** What TypeBox computes from an object. */
  #derived(place) {
    const object = Type.Object(this.#properties(place, 4));
    return this.#random.pick([
      () => Type.Partial(object),
      () => Type.Required(object),
      () => Type.KeyOf(object),
      () => Type.Omit(object, ["a", "b"]),
      () => Type.Pick(object, ["a", "id"]),
    ])();
  }

  /** Sometimes a schema has a `$id`, and what is inside may refer to it. */
  #identified(place, make) {
    if (!this.#random.chance(0.1)) return make(place);
    const $id = `I${nextId++}`;
    const schema = make({ ...place, open: [...place.open, $id] });
    return { ...schema, $id };
  }
}

/** Whether everything in it is still an own property of an ordinary object. */
function isSound(schema) {
  if (typeof schema !== "object" || schema === null || types.isDate(schema)) return true;
  if (Array.isArray(schema)) return schema.every(isSound);
  if (schema instanceof Uint8Array) return true;
  if (schema[Kind] === "Object" && Object.values(schema.properties).some((part) => !(Kind in part)))
    return false;
  return Object.getPrototypeOf(schema) === Object.prototype && Object.values(schema).every(isSound);
}

/** One container further down. */
function below(place) {
  return { depth: place.depth - 1, open: place.open, reachable: place.open };
}

/** Another schema for the same value. */
function same(place) {
  return { ...place, depth: place.depth - 1 };
}

function passes(schema, value) {
  try {
    return Value.Check(schema, value);
  } catch {
    return false;
  }
}

/** Defaults are data, as people write them into schemas. */
function isCloneable(value) {
  if (Array.isArray(value)) return value.every(isCloneable);
  if (typeof value === "object" && value !== null) {
    const prototype = Object.getPrototypeOf(value);
    if (types.isDate(value)) return !Number.isNaN(value.getTime());
    if (prototype === Uint8Array.prototype) return true;
    return prototype === Object.prototype && Object.values(value).every(isCloneable);
  }
  return typeof value !== "function" && typeof value !== "symbol";
}
