// The files of the explorer (`explorer/`), which are part of the package.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CallError, InfrastructureErrorCode } from "../errors.js";

const FOLDER = join(__dirname, "..", "explorer");

/** All of them, as the native side serves them (`crates/operations-serve/src/door/explorer/file.rs`). */
export function explorerFiles(): { name: string; text: string }[] {
  try {
    return readdirSync(FOLDER).map((name) => ({ name, text: readFileSync(join(FOLDER, name), "utf8") }));
  } catch (error) {
    throw new CallError(
      InfrastructureErrorCode.EXECUTION_ERROR,
      `serve: the files of the explorer cannot be read from ${FOLDER}. If your program is bundled, leave @alkdev/operations out of the bundle`,
      { cause: String(error) },
    );
  }
}
