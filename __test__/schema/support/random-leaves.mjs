// biome-ignore-all lint/suspicious/noTemplateCurlyInString: template marks in ordinary strings are what is tested.

// Random TypeBox schemas without parts.

import { Kind, Type } from "@sinclair/typebox";
import {
  BROKEN_PATTERNS,
  HOSTILE_NAMES,
  KNOWN_FORMATS,
  OWN_FORMATS,
  PATTERNS,
  PROTOTYPE_NAMES,
  REGULAR_EXPRESSIONS,
  TEXTS,
  UNKNOWN_FORMATS,
} from "./random-words.mjs";

/** Matched by the samples in random-values.mjs. */
const TEMPLATES = ["on${1|2|3}", "v${number}", "${string}-x", "a${boolean}"];

export class LeafMaker {
  #random;
  #plain;

  /** `plain`: only kinds that JSON has, and without constraints. */
  constructor(random, plain) {
    this.#random = random;
    this.#plain = plain;
  }

  /** A schema without parts; `reachable` are the `$id`s that it may refer to. */
  make(reachable = []) {
    const random = this.#random;
    if (this.#plain) return this.#plainLeaf();
    const references = reachable.length > 0 ? 4 : 0;
    return random.weighted([
      [8, () => this.#string()],
      [5, () => Type.Number(this.#bounds())],
      [5, () => Type.Integer(this.#bounds())],
      [4, () => Type.Boolean()],
      [3, () => Type.Null()],
      [4, () => this.#literal()],
      [2, () => Type.Unknown()],
      [2, () => Type.Any()],
      [2, () => Type.Undefined()],
      [1, () => Type.Void()],
      [1, () => Type.Never()],
      [2, () => Type.BigInt(this.#bigBounds())],
      [2, () => Type.Date(this.#timeBounds())],
      [2, () => Type.Uint8Array(this.#byteBounds())],
      [1, () => Type.Symbol()],
      [1, () => Type.Function([Type.String()], Type.Number())],
      [1, () => Type.Promise(Type.String())],
      [1, () => Type.Iterator(Type.String())],
      [1, () => Type.AsyncIterator(Type.String())],
      [2, () => this.#regExp()],
      [2, () => Type.TemplateLiteral(random.pick(TEMPLATES))],
      [2, () => this.#ownKind()],
      [references, () => Type.Ref(random.pick(reachable))],
    ])();
  }

  #plainLeaf() {
    return this.#random.weighted([
      [5, () => Type.String()],
      [3, () => Type.Number()],
      [3, () => Type.Integer()],
      [3, () => Type.Boolean()],
      [2, () => Type.Null()],
      [2, () => this.#literal()],
      [1, () => Type.Unknown()],
    ])();
  }

  #bounds() {
    const random = this.#random;
    const options = {};
    if (random.chance(0.2)) options.minimum = random.pick([-10, 0, 1, 1.5, -0]);
    if (random.chance(0.2)) options.maximum = random.pick([0, 3, 10, 100.25, 2 ** 53]);
    if (random.chance(0.08)) options.exclusiveMinimum = random.pick([-1, 0, 2.5]);
    if (random.chance(0.08)) options.exclusiveMaximum = random.pick([1, 5, 1e21]);
    if (random.chance(0.08)) options.multipleOf = random.pick([1, 2, 0.5, 0.1, 0.01, 3, 0, -2, 1e-7]);
    return options;
  }

  #bigBounds() {
    const random = this.#random;
    const options = {};
    if (random.chance(0.3)) options.minimum = random.pick([-3n, 0n, 10n ** 20n]);
    if (random.chance(0.3)) options.maximum = random.pick([0n, 5n, 10n ** 21n]);
    if (random.chance(0.1)) options.exclusiveMinimum = random.pick([0n, 1n]);
    if (random.chance(0.1)) options.exclusiveMaximum = random.pick([2n, 10n]);
    if (random.chance(0.1)) options.multipleOf = random.pick([1n, 2n, 7n]);
    return options;
  }

  #timeBounds() {
    const random = this.#random;
    const options = {};
    if (random.chance(0.3)) options.minimumTimestamp = random.pick([0, 1_000, -5]);
    if (random.chance(0.3)) options.maximumTimestamp = random.pick([0, 1_000, 1.7e12]);
    if (random.chance(0.1)) options.exclusiveMinimumTimestamp = random.pick([0, 999]);
    if (random.chance(0.1)) options.exclusiveMaximumTimestamp = random.pick([1_000, 2e12]);
    if (random.chance(0.1)) options.multipleOfTimestamp = random.pick([1, 1_000]);
    return options;
  }

  #byteBounds() {
    const options = {};
    if (this.#random.chance(0.3)) options.minByteLength = this.#random.between(0, 3);
    if (this.#random.chance(0.3)) options.maxByteLength = this.#random.between(1, 4);
    return options;
  }

  #lengths() {
    const options = {};
    if (this.#random.chance(0.2)) options.minLength = this.#random.between(0, 3);
    if (this.#random.chance(0.2)) options.maxLength = this.#random.between(0, 6);
    return options;
  }

  #string() {
    const random = this.#random;
    const options = this.#lengths();
    if (random.chance(0.15)) options.pattern = random.pick(PATTERNS).pattern;
    else if (random.chance(0.01)) options.pattern = random.pick(BROKEN_PATTERNS);
    if (random.chance(0.15)) {
      options.format = random.weighted([
        [6, () => random.pick(Object.keys(KNOWN_FORMATS))],
        [2, () => random.pick(UNKNOWN_FORMATS)],
        [2, () => random.pick(Object.keys(OWN_FORMATS))],
      ])();
    }
    return Type.String(options);
  }

  #regExp() {
    const { expression } = this.#random.pick(REGULAR_EXPRESSIONS);
    return Type.RegExp(expression, this.#random.chance(0.5) ? this.#lengths() : {});
  }

  #literal() {
    const random = this.#random;
    return Type.Literal(
      random.weighted([
        [5, () => random.pick(TEXTS)],
        [3, () => random.pick([0, 1, -1, 1.5, -0, 1e21, 5e-324, 42])],
        [2, () => random.chance(0.5)],
        [1, () => random.pick([HOSTILE_NAMES, PROTOTYPE_NAMES].flat())],
        [0.3, () => random.pick([0n, 5n])],
      ])(),
    );
  }

  /** Kinds of the user's own, one that nobody registered, and TypeBox's unregistered `Unsafe`. */
  #ownKind() {
    return this.#random.weighted([
      [4, () => Type.Unsafe({ [Kind]: "test:even" })],
      [4, () => Type.Unsafe({ [Kind]: "test:at-most", most: this.#random.between(0, 4) })],
      [2, () => Type.Unsafe({ [Kind]: "test:tagged", tag: "t" })],
      [0.4, () => Type.Unsafe({ [Kind]: "test:nobody" })],
      [0.4, () => Type.Unsafe({ type: "string" })],
    ])();
  }
}
