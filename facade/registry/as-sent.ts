// What a source knows about its answers: which are not the declared shape, because the document does not declare their
// content type, and which have notes that nobody has been told of.

const asSent = new WeakSet<object>();
const noted = new WeakSet<object>();

/** What this `meta` belongs to is handed on as it was sent. */
export function markAsSent(meta: object): void {
  asSent.add(meta);
}

export function isAsSent(meta: object): boolean {
  return asSent.has(meta);
}

/** The source has put notes into this `meta`, which are still to be logged. */
export function markNoted(meta: object): void {
  noted.add(meta);
}

export function isNoted(meta: object): boolean {
  return noted.has(meta);
}
