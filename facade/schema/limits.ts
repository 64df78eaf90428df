/** How many containers may be nested in a schema; the native engine has the same limit. */
export const MAX_SCHEMA_DEPTH = 512;
