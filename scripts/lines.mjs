// npm run lines -- [--at COMMIT] [--against COMMIT] [--files]: how large the code is that users get. Lines of
// crates/*/src, src and facade, without tests, comments and blank lines; --files lists the largest files too.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isMain, output, root } from "./lib.mjs";

const COUNTED = /^(?:(crates\/[^/]+)\/src|(src|facade)(?=\/[^/]+$)|src|(facade\/[^/]+))\/.*\.(?:rs|ts)$/;
const TEST_FILE = /(^|\/)tests?(\.rs|\/)/;

/** The crate or folder that a file is counted under; undefined for what is not counted. */
export function room(path) {
  if (TEST_FILE.test(path)) return undefined;
  const match = COUNTED.exec(path);
  return match === null ? undefined : (match[1] ?? match[2] ?? match[3] ?? "src");
}

/** How many lines of a source text are code that is not a test. */
export function codeLines(text) {
  let count = 0;
  let inComment = false;
  // What `#[cfg(test)]` stands above, and its indentation: rustfmt ends an item with a line that has the same one.
  let testItem;
  for (const line of text.split("\n")) {
    const code = line.trim();
    if (testItem !== undefined) {
      const indentation = line.length - line.trimStart().length;
      if (code === "" || indentation > testItem) continue;
      const opens = /[{([]$/.test(code);
      if (!opens && !code.startsWith("#[")) testItem = undefined;
      continue;
    }
    if (inComment) {
      inComment = !code.includes("*/");
    } else if (code.startsWith("/*")) {
      inComment = !code.includes("*/");
    } else if (/^#\[cfg\((test|all\(test\b|feature = "test-hooks")/.test(code)) {
      testItem = line.length - line.trimStart().length;
    } else if (code !== "" && !code.startsWith("//")) {
      count += 1;
    }
  }
  return count;
}

/** The files that a Rust file declares as modules for tests alone. */
export function testModules(path, text) {
  const folder = path.replace(/(\/(mod|lib)\.rs|\.rs)$/, "");
  const declared = text.matchAll(
    /^#\[cfg\((?:test|feature = "test-hooks")\)\]\n(?:pub(?:\(\w+\))? )?mod (\w+);/gm,
  );
  return [...declared].map(([, name]) => `${folder}/${name}.rs`);
}

/** What is counted at a commit, or in the work tree: a map from a file's path to its lines. */
function measure(commit) {
  const listing =
    commit === undefined
      ? output("git", ["ls-files", "--cached", "--others", "--exclude-standard"])
      : output("git", ["ls-tree", "-r", "--name-only", commit]);
  const files = listing.split("\n").filter((path) => room(path) !== undefined);
  const texts = new Map();
  for (const path of files) {
    if (commit !== undefined) texts.set(path, output("git", ["show", `${commit}:${path}`]));
    else if (existsSync(join(root, path))) texts.set(path, readFileSync(join(root, path), "utf8"));
  }
  for (const [path, text] of [...texts]) {
    for (const module of testModules(path, text)) texts.delete(module);
  }
  return new Map([...texts].map(([path, text]) => [path, codeLines(text)]));
}

function byRoom(lines) {
  const rooms = new Map();
  for (const [path, count] of lines) rooms.set(room(path), (rooms.get(room(path)) ?? 0) + count);
  return rooms;
}

const figure = (number, width = 10) => number.toLocaleString("en").padStart(width);
const sum = (counts) => [...counts].reduce((total, count) => total + count, 0);

function print(now, before) {
  const [rooms, earlier] = [byRoom(now), byRoom(before ?? new Map())];
  const row = (name, after, was) => {
    const columns = before === undefined ? [after] : [was, after, after - was];
    console.log(`${name.padEnd(28)}${columns.map((each) => figure(each)).join("")}`);
  };
  for (const name of [...new Set([...earlier.keys(), ...rooms.keys()])].sort()) {
    row(name, rooms.get(name) ?? 0, earlier.get(name) ?? 0);
  }
  row("total", sum(rooms.values()), sum(earlier.values()));
}

if (isMain(import.meta.url)) {
  const option = (name) => {
    const index = process.argv.indexOf(name);
    return index === -1 ? undefined : process.argv[index + 1];
  };
  const now = measure(option("--at"));
  const against = option("--against");
  print(now, against === undefined ? undefined : measure(against));
  if (process.argv.includes("--files")) {
    console.log();
    const largest = [...now].sort(([, one], [, other]) => other - one).slice(0, 40);
    for (const [path, count] of largest) console.log(`${figure(count, 6)}  ${path}`);
  }
}
