// The `info` of an OpenAPI document.

import { aString, type Check, checkedOptions, type Fields, required } from "../interop/options.js";

/**
 * The `info` of an OpenAPI document.
 *
 * @example
 * ```ts
 * const info: OpenAPIInfo = { title: "Tasks", version: "1.0.0" };
 * ```
 */
export interface OpenAPIInfo {
  title: string;
  version: string;
  description?: string;
  /** What else OpenAPI has a place for: `contact`, `license`, `termsOfService`, `summary`. */
  [field: string]: unknown;
}

const FIELDS: Fields<OpenAPIInfo> = {
  title: required(aString),
  version: required(aString),
  description: aString,
};

/** What else is there is OpenAPI's business. */
export const anInfo: Check = (value, path) => {
  checkedOptions<OpenAPIInfo>(value, FIELDS, { prefix: `${path}.`, others: () => {} });
  return value;
};
