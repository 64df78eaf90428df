// Where operations are called. No DOM: tested without a browser.

/** The address of an operation, below the HTTP door. */
export const pathOf = ({ namespace, name }: { namespace: string; name: string }): string =>
  `${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
