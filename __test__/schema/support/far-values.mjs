// Values that have nothing to do with a schema: everything that JavaScript has to offer.

import { BROKEN_TEXTS, HOSTILE_NAMES, PLAIN_NAMES, PROTOTYPE_NAMES, TEXTS } from "./random-words.mjs";

class Point {
  constructor() {
    this.x1 = 1;
    this.name = "point";
  }
  get value() {
    return 42;
  }
}

const SCALARS = [
  undefined,
  null,
  true,
  false,
  0,
  -0,
  1,
  -1,
  42,
  1.5,
  0.1 + 0.2,
  1e21,
  5e-324,
  2 ** 53,
  Number.NaN,
  Infinity,
  -Infinity,
  0n,
  5n,
  -(10n ** 25n),
  Symbol("far"),
  Symbol.iterator,
];

const SPECIAL = [
  () => new Date(0),
  () => new Date(1_000),
  () => new Date(Number.NaN),
  () => new Uint8Array([1, 2, 3]),
  () => Buffer.from("ab"),
  () => new Float64Array(2),
  () => new DataView(new ArrayBuffer(2)),
  () => new ArrayBuffer(2),
  () => new Map([["a", 1]]),
  () => new Set(["a"]),
  () => /x/g,
  () => new Error("far"),
  () => new Point(),
  () => new String("boxed"),
  () => new Number(1),
  () => Promise.resolve(1),
  () => [1][Symbol.iterator](),
  () => (async function* () {})(),
  () => () => 1,
  () => class {},
  () => Object.create(null),
  () => Object.assign(Object.create(null), { a: 1, id: "x" }),
  () => Object.create({ a: 1, name: "inherited" }),
  () => new Proxy({ a: 1, name: "proxied" }, {}),
  () => new Proxy([1, "proxied"], {}),
  // biome-ignore lint/suspicious/noSparseArray: that is what is tested.
  () => [1, , 3],
  () => new Array(3),
  () => Object.assign([1, 2], { extra: true }),
  () => Object.defineProperty({ a: 1 }, "hidden", { value: 1 }),
  () => Object.defineProperty({}, "a", { get: () => "got", enumerable: true }),
  () => Object.freeze({ a: Object.freeze(["x"]) }),
  () => ({ [Symbol("key")]: 1, a: "x" }),
  () => globalThis.structuredClone({ a: { b: [1, 2] } }),
];

export function farValue(random, depth = 0) {
  return random.weighted([
    [6, () => random.pick(SCALARS)],
    [5, () => random.pick(TEXTS)],
    [0.5, () => random.pick(BROKEN_TEXTS)],
    [3, () => random.pick(SPECIAL)()],
    [depth > 2 ? 0 : 2, () => random.times(0, 3, () => farValue(random, depth + 1))],
    [depth > 2 ? 0 : 3, () => farObject(random, depth)],
  ])();
}

function farObject(random, depth) {
  const value = {};
  for (let left = random.between(0, 4); left > 0; left--) {
    const names = random.weighted([
      [8, PLAIN_NAMES],
      [2, HOSTILE_NAMES],
      [1, PROTOTYPE_NAMES],
    ]);
    Object.defineProperty(value, random.pick(names), {
      value: farValue(random, depth + 1),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return value;
}
