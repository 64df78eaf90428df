// The native side, for tests that must reach behind the public API: `require` finds the very modules
// that the public entry points use.

import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

export const { native, runtime } = require("../../dist/runtime.js");

if (native.TestHooks === undefined) {
  throw new Error("The addon was built without test hooks: run `npm run build:dev`");
}

export const hooks = new native.TestHooks(runtime);
