/** The version that this code was compiled as. `scripts/check-versions.mjs` compares it with the package's. */
export const VERSION = "0.2.0";
