// A private fact about an object, which other code can neither see nor forge. A `WeakMap` says the same, but one whose keys
// live as long as a call costs the garbage collector more than the rest of the call; a private field costs next to nothing.

/** Hands a class below it an object that is there already, so that its private field is put on that. */
class Given {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: this is the point of it
    return object;
  }
}

/** What is known of objects, under one name. */
export interface PrivateField<K extends object, V> {
  set(object: K, value: V): void;
  get(object: K): V | undefined;
}

export function privateField<K extends object, V>(): PrivateField<K, V> {
  /** The users' own objects may be frozen, and private fields may not be put on those forever. */
  const frozen = new WeakMap<K, V>();

  class Marked extends Given {
    #value: V;

    constructor(object: K, value: V) {
      super(object);
      this.#value = value;
    }

    static set(object: K, value: V): void {
      if (#value in object) (object as Marked).#value = value;
      else if (Object.isExtensible(object)) new Marked(object, value);
      else frozen.set(object, value);
    }

    static get(object: K): V | undefined {
      return #value in object ? (object as Marked).#value : frozen.get(object);
    }
  }

  return Marked;
}
