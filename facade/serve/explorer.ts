/** The files of the explorer (`explorer/`), as the native side serves them (`crates/operations-serve/src/door/explorer/file.rs`).
 * They are in one module (`scripts/lib.mjs` writes it), so that they are in a bundle too. */
export function explorerFiles(): { name: string; text: string }[] {
  return require("./explorer-files.js");
}
