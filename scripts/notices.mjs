// The licences of everything that is compiled into the addon, on whichever platform. Written from Cargo.lock whenever a
// platform package is packed, so that they cannot be out of date. `node scripts/notices.mjs` prints them.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isMain, output } from "./lib.mjs";

export const NOTICES = "THIRD-PARTY-NOTICES.md";

/** Files that hold the terms under which a crate may be passed on. */
const TERMS = /^(licen[cs]e|copying|copyright|notice|unlicense)/i;

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

function termsOf({ manifest_path, license_file }) {
  const folder = dirname(manifest_path);
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && TERMS.test(entry.name))
    .map(({ name }) => name);
  if (license_file && existsSync(join(folder, license_file)) && !names.includes(license_file)) {
    names.push(license_file);
  }
  return names.sort().map((name) => readFileSync(join(folder, name), "utf8").replace(/\r\n?/g, "\n").trim());
}

/** The whole file. Crates with the same terms, word for word, share them. */
export function notices() {
  const crates = compiledIn(JSON.parse(output("cargo", ["metadata", "--format-version=1", "--locked"])));
  const sections = new Map();
  for (const crate of crates) {
    for (const text of termsOf(crate)) {
      const key = text.replace(/\s+/g, " ");
      const section = sections.get(key) ?? { text, users: [] };
      section.users.push(`${crate.name} ${crate.version}`);
      sections.set(key, section);
    }
  }
  const lines = [
    "# Third-party notices",
    "",
    "The native part of @alkdev/operations contains the following Rust crates. Not every platform has all of them.",
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

if (isMain(import.meta.url)) console.log(notices());
