// Two copies of TypeBox. The engine looks users' formats and kinds up in the copy that `require` gives;
// the copy that `import` gives serves as the second opinion. So the second can be told of our formats
// without the first (and the engine) asking it: on both sides a format means what the engine says.

import { createRequire } from "node:module";
import { FormatRegistry, TypeRegistry } from "@sinclair/typebox";
import { native } from "../../support/internals.mjs";
import { KNOWN_FORMATS, OWN_FORMATS, OWN_KINDS, UNKNOWN_FORMATS } from "./random-words.mjs";

const require = createRequire(import.meta.url);
const users = require("@sinclair/typebox");

export const { CompiledSchema } = require("../../../dist/schema/compiled.js");

for (const [name, check] of Object.entries(OWN_FORMATS)) {
  users.FormatRegistry.Set(name, check);
  FormatRegistry.Set(name, check);
}
for (const [name, check] of Object.entries(OWN_KINDS)) {
  users.TypeRegistry.Set(name, check);
  TypeRegistry.Set(name, check);
}
// Deliberate difference: known formats are asserted although nobody registered them,
for (const name of Object.keys(KNOWN_FORMATS)) {
  FormatRegistry.Set(name, (text) => native.checkFormat(name, text));
}
// and unknown ones are annotations.
for (const name of UNKNOWN_FORMATS) FormatRegistry.Set(name, () => true);
