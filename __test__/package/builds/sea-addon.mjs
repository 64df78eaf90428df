// For Node's single executables: the addon is an asset of the executable, and a library has to be a file to be loaded.

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getRawAsset } from "node:sea";

const file = join(mkdtempSync(join(tmpdir(), "operations-")), "operations.node");
writeFileSync(file, new Uint8Array(getRawAsset("operations.node")));
process.env.OPERATIONS_NATIVE_PATH ??= file;
