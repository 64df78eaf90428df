// For Node's single executables: the addon is an asset of the executable, and has to be a file to be loaded.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getRawAsset } from "node:sea";

const folder = mkdtempSync(join(tmpdir(), "operations-"));
const file = join(folder, "operations.node");
writeFileSync(file, new Uint8Array(getRawAsset("operations.node")));
process.env.OPERATIONS_NATIVE_PATH ??= file;
process.once("exit", () => {
  try {
    rmSync(folder, { recursive: true });
  } catch {} // Windows does not remove a library that is in use.
});
