// A call map and the operations on its other side, by namespace and name.

import type { RemoteCallMap } from "./transport.js";

/** An object whose members are made when they are read. It is no promise, so that `await` leaves it alone. */
export function members(make: (name: string) => unknown): object {
  return new Proxy(Object.create(null), {
    get: (_, name) => (typeof name === "string" && name !== "then" ? make(name) : undefined),
  });
}

/** The map itself, with `map.tasks.create(input)` for what it does not have. */
export function typedCallMap(map: RemoteCallMap): object {
  const call: RemoteCallMap["call"] = (id, input, options) => map.call(id, input, options);
  const subscribe: RemoteCallMap["subscribe"] = (id, input, options) => map.subscribe(id, input, options);
  const own: Record<PropertyKey, unknown> = { call, subscribe, $call: call, $subscribe: subscribe };
  return new Proxy(map, {
    get(_, name) {
      if (Object.hasOwn(own, name)) return own[name];
      if (name in map || typeof name === "symbol" || name === "then") {
        const value: unknown = Reflect.get(map, name, map);
        return typeof value === "function" ? value.bind(map) : value;
      }
      return members(
        (operation) => (input: unknown, options?: Parameters<typeof call>[2]) =>
          call(`${name}.${operation}`, input, options),
      );
    },
  });
}
