// The counterpart of `schema/registries.ts`: one copy of TypeBox checks everything here, so what users registered with
// another one is made known to it.

import { FormatRegistry, TypeRegistry } from "@sinclair/typebox";
import type { TypeBoxModule } from "../schema/registries.js";

const others: TypeBoxModule[] = [];

export function useTypeBox(module: TypeBoxModule): void {
  if (module.FormatRegistry === FormatRegistry || others.includes(module)) return;
  others.push(module);
}

/** Whether a format is registered. */
export function isFormatKnown(name: string): boolean {
  if (FormatRegistry.Has(name)) return true;
  const check = others.find((copy) => copy.FormatRegistry.Has(name))?.FormatRegistry.Get(name);
  if (check !== undefined) FormatRegistry.Set(name, check);
  return check !== undefined;
}

/** Makes a kind known that is registered with another copy. */
export function learnKind(name: string): void {
  if (TypeRegistry.Has(name)) return;
  const check = others.find((copy) => copy.TypeRegistry.Has(name))?.TypeRegistry.Get(name);
  if (check !== undefined) TypeRegistry.Set(name, check);
}
