/** Sets a property, whatever its name: assigning to `__proto__` would set the prototype. */
export function define(target, key, value) {
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}
