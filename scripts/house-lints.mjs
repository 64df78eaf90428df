// Rules of this house that no linter knows. Each function returns what is wrong, as lines of text.

/** What editors, merges and patches leave behind. */
const LEFTOVER = /(\.(orig|rej|bak|swp|tmp)|~)$/;

/** @param {string[]} files all paths of the repository, tracked or not, except for what git ignores */
export function leftovers(files) {
  return files.filter((file) => LEFTOVER.test(file)).map((file) => `${file}: a leftover, not a source`);
}

/**
 * Node-API stays in the binding: the crates are tested without Node, and could not be if they linked it.
 *
 * @param {string} cargoLock the text of Cargo.lock, which names the dependencies of every crate
 */
export function napiOutsideBinding(cargoLock) {
  const problems = [];
  for (const block of cargoLock.split("[[package]]").slice(1)) {
    const name = /^name = "(.*)"$/m.exec(block)?.[1] ?? "";
    if (name === "operations-napi" || name.startsWith("napi")) continue;
    const dependencies = /^dependencies = \[([^\]]*)\]/m.exec(block)?.[1] ?? "";
    const napi = /"(napi[\w-]*)/.exec(dependencies)?.[1];
    if (napi !== undefined) problems.push(`${name} depends on ${napi}: only the binding (src/) may`);
  }
  return problems;
}

/**
 * A panic that leaves an export ends the process of the user: every exported function catches it.
 *
 * @param {string} source the text of a file of the binding
 * @returns {{ name: string, isGuarded: boolean }[]} the functions that it exports to JavaScript
 */
export function napiExports(source) {
  const exports = [];
  // Between the attribute and the function are other attributes and comments.
  const found =
    /^[ \t]*#\[napi(\((?:(?!#\[)[\s\S])*?\))?\]\n(?:[ \t]*(?:#\[[^\]]*\]|\/\/.*)\n)*[ \t]*pub(?:\([a-z]+\))? (?:async |unsafe )*fn (\w+)/gm;
  for (const [, options = "", name] of source.matchAll(found)) {
    exports.push({ name, isGuarded: /\bcatch_unwind\b/.test(options) });
  }
  return exports;
}
