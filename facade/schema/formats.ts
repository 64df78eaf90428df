import { native } from "../runtime.js";
import { commonJsCopy, knownCopies, useTypeBox } from "./registries.js";

/**
 * Registers the formats that this package knows (date, date-time, email, uuid, uri, ...) with TypeBox's
 * `FormatRegistry`. Call it if you use TypeBox's own `Value.Check` on imported schemas, because TypeBox refuses formats
 * that are not registered. The package never calls it. Formats that are already registered stay.
 *
 * @example
 * ```ts
 * registerFormats();
 * Value.Check(Type.String({ format: "email" }), "ada@example.com"); // true
 * ```
 */
export function registerFormats(): void {
  if (knownCopies().length === 0) useTypeBox(commonJsCopy());
  for (const { FormatRegistry } of knownCopies()) {
    for (const name of native.knownFormats()) {
      if (FormatRegistry.Has(name)) continue;
      FormatRegistry.Set(name, (text) => native.checkFormat(name, text) ?? true);
    }
  }
}
