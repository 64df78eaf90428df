// Responses whose content type the document does not declare: what they hold is not the declared shape.

const asSent = new WeakSet<object>();

/** What this `meta` belongs to is handed on as it was sent. */
export function markAsSent(meta: object): void {
  asSent.add(meta);
}

export function isAsSent(meta: object): boolean {
  return asSent.has(meta);
}
