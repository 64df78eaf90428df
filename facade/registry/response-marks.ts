// What a source knows about its answers: which are not in the declared shape, because the document does not declare their
// content type, and which have notes that were not logged yet.

import { type PrivateField, privateField } from "../interop/private-field.js";

const asSent: PrivateField<object, true> = privateField();
const noted: PrivateField<object, true> = privateField();

/** What this `meta` belongs to is handed on as it was sent. */
export function markAsSent(meta: object): void {
  asSent.set(meta, true);
}

export function isAsSent(meta: object): boolean {
  return asSent.get(meta) === true;
}

/** The source has put notes into this `meta`, which are still to be logged. */
export function markNoted(meta: object): void {
  noted.set(meta, true);
}

export function isNoted(meta: object): boolean {
  return noted.get(meta) === true;
}
