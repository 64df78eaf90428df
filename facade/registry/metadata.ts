// `metadata` of a call: data for handlers, of which the package reads a few members itself.

import { optionOf } from "../interop/options.js";
import { type PrivateField, privateField } from "../interop/private-field.js";
import type { OperationContext } from "../types.js";

/** Metadata that came over a wire, and the members of it that may steer the package. */
const allowedMembers: PrivateField<object, ReadonlySet<string>> = privateField();

export function restrictMetadata(metadata: object, allowed: ReadonlySet<string>): void {
  allowedMembers.set(metadata, allowed);
}

/** A member of a call's metadata that steers how the package makes the call; `undefined` if the caller may not set it. */
export function steering({ metadata }: OperationContext, name: string): unknown {
  if (typeof metadata !== "object" || metadata === null) return undefined;
  return allowedMembers.get(metadata)?.has(name) === false ? undefined : optionOf(metadata, name);
}
