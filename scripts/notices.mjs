// The licences of everything that is compiled into the addon of a platform. Written from Cargo.lock whenever a platform package is
// packed, so that they cannot be out of date. `node scripts/notices.mjs linux-x64-gnu` prints them.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { hostTriple, isMain, output, root } from "./lib.mjs";

export const NOTICES = "THIRD-PARTY-NOTICES.md";

/** What cargo calls the platforms that there are packages for. */
export const TARGETS = {
  "darwin-arm64": "aarch64-apple-darwin",
  "darwin-x64": "x86_64-apple-darwin",
  "linux-arm64-gnu": "aarch64-unknown-linux-gnu",
  "linux-arm64-musl": "aarch64-unknown-linux-musl",
  "linux-x64-gnu": "x86_64-unknown-linux-gnu",
  "linux-x64-musl": "x86_64-unknown-linux-musl",
  "win32-arm64-msvc": "aarch64-pc-windows-msvc",
  "win32-x64-msvc": "x86_64-pc-windows-msvc",
};

/** Files that hold the terms under which a crate may be passed on. */
const TERMS = /^(licen[cs]e|copying|copyright|notice|unlicense)/i;

/** A crate can contain the work of others, with terms of its own: C libraries, above all. What these have in tests is not compiled in. */
const NOT_COMPILED_IN = /^(tests?|benches|examples|fuzz|docs?|\..*)$/;

/** The standard texts, for crates that name a licence and leave out its words. The first one that a crate offers is taken. */
const STANDARD_TERMS = {
  MIT: (holders) => standardText("MIT", holders),
  "Apache-2.0": () => readFileSync(join(root, "LICENSE-APACHE"), "utf8").trim(),
  "BSD-3-Clause": (holders) => standardText("BSD-3-Clause", holders),
};

const standardText = (name, holders) =>
  readFileSync(new URL(`./licences/${name}.txt`, import.meta.url), "utf8")
    .trim()
    .replace("<holders>", holders);

/** The crates that the addon is made of: what it depends on, and what that depends on, without tests and build scripts. */
function compiledIn({ packages, resolve }) {
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
  const byId = new Map(packages.map((each) => [each.id, each]));
  const found = new Set();
  const left = packages.filter(({ name }) => name === "operations-napi").map(({ id }) => id);
  for (let id = left.pop(); id !== undefined; id = left.pop()) {
    if (found.has(id)) continue;
    found.add(id);
    for (const { pkg, dep_kinds } of nodes.get(id).deps) {
      if (dep_kinds.some(({ kind }) => kind === null)) left.push(pkg);
    }
  }
  return [...found]
    .map((id) => byId.get(id))
    .filter(({ source }) => source !== null)
    .sort((one, other) => order(one.name, other.name) || order(one.version, other.version));
}

const order = (one, other) => (one < other ? -1 : one > other ? 1 : 0);

/** The files with terms in a folder and its subfolders, sorted. */
function filesWithTerms(folder) {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((one, other) =>
    order(one.name, other.name),
  );
  return [
    ...entries.filter((entry) => entry.isFile() && TERMS.test(entry.name)),
    ...entries.filter((entry) => entry.isDirectory() && !NOT_COMPILED_IN.test(entry.name)),
  ].flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isFile() ? [path] : filesWithTerms(path);
  });
}

function termsOf(crate) {
  const { name, version, manifest_path, license_file } = crate;
  const folder = dirname(manifest_path);
  const files = filesWithTerms(folder);
  const own = license_file && join(folder, license_file);
  if (own && existsSync(own) && !files.includes(own)) files.push(own);
  if (files.length > 0) return files.map((file) => readFileSync(file, "utf8").replace(/\r\n?/g, "\n").trim());
  const standard = standardTermsOf(crate);
  if (standard === undefined) throw new Error(`${name} ${version} has no terms that could be passed on`);
  return [standard];
}

function standardTermsOf({ name, license = "", authors }) {
  const offered = license.split(/ OR |\//).find((each) => STANDARD_TERMS[each] !== undefined);
  const holders = authors.length > 0 ? authors.join(", ") : `the authors of ${name}`;
  return STANDARD_TERMS[offered]?.(holders);
}

/** The whole file for a platform. Crates with the same terms, word for word, share them. */
export function notices(triple) {
  const args = ["metadata", "--format-version=1", "--locked", "--filter-platform", TARGETS[triple]];
  const crates = compiledIn(JSON.parse(output("cargo", args)));
  const sections = new Map();
  const add = (user, text) => {
    const key = text.replace(/\s+/g, " ");
    const section = sections.get(key) ?? { text, users: [] };
    if (!section.users.includes(user)) section.users.push(user);
    sections.set(key, section);
  };
  for (const crate of crates) {
    for (const text of termsOf(crate)) add(`${crate.name} ${crate.version}`, text);
  }
  // It is in every addon, and no crate of Cargo.lock.
  add("Rust's standard library", standardText("MIT", "The Rust Project contributors"));
  const lines = [
    "# Third-party notices",
    "",
    `The native part of @alkdev/operations for ${triple} contains Rust's standard library (MIT OR Apache-2.0, https://github.com/rust-lang/rust) and the following Rust crates.`,
    "",
    "| crate | licence | source |",
    "|---|---|---|",
    ...crates.map(
      ({ name, version, license, repository }) =>
        `| ${name} ${version} | ${license ?? "see below"} | ${repository ?? `https://crates.io/crates/${name}`} |`,
    ),
    "",
  ];
  for (const { text, users } of sections.values()) {
    lines.push(`## ${users.join(", ")}`, "", "~~~text", text.replaceAll("~~~", "~ ~ ~"), "~~~", "");
  }
  return lines.join("\n");
}

if (isMain(import.meta.url)) console.log(notices(process.argv[2] ?? hostTriple()));
