// The official JSON Schema test suite, where scripts/json-schema-suite.mjs puts it.

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { missing } from "./skips.mjs";

export const suite = fileURLToPath(new URL("../../target/json-schema-test-suite", import.meta.url));

/** For the `skip` option of a test. */
export const withoutSuite =
  !existsSync(suite) &&
  missing("the JSON Schema test suite is not here (node scripts/json-schema-suite.mjs)");
