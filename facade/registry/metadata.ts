// `metadata` of a call: data for handlers, of which the package reads a few members itself.

import { invalid } from "../errors.js";
import { nearestName } from "../interop/nearest-name.js";
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

/** What the package reads in it. */
const KEYS = ["headers", "lastEventId", "resetTimeoutOnProgress", "timeout"];
/** Keys that were found to be none of these, and no slip either. */
const others = new Set<string>(KEYS);
const MAX_OTHERS = 1_000;

/** Refuses keys that are one slip away from those that the package reads. What came over a wire is data, whatever it is called. */
export function refuseMisspelt(operationId: string, metadata: object): void {
  if (allowedMembers.get(metadata) !== undefined) return;
  for (const key of Object.keys(metadata)) {
    if (others.has(key)) continue;
    const nearest = /[^\w-]/.test(key) ? undefined : nearestName(key, KEYS);
    if (nearest !== undefined) {
      throw invalid(
        `The call of ${operationId} was refused: metadata.${key}: Unknown key. Did you mean ${nearest}?`,
        { operationId, key, nearest, delivery: "none" },
      );
    }
    if (others.size < MAX_OTHERS) others.add(key);
  }
}
