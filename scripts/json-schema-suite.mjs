// The official JSON Schema test suite, brought to where the tests look for it: target/json-schema-test-suite.
// Run it on its own before `cargo test` or a single test file; `npm test` does so by itself.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { attempt, heading, isMain, root } from "./lib.mjs";

const DESTINATION = join(root, "target", "json-schema-test-suite");
const PARTS = ["draft4", "draft6", "draft7", "draft2019-09", "draft2020-12"].map((draft) =>
  join("tests", draft),
);
PARTS.push("remotes");

/** The editions that the engine was held against, by the checksum of what the tests read. */
const EDITIONS = {
  a789d45c8b8868f7e1950b8d75cd71f936f292df73ae4152f3216c8486ae7546: "of 22 August 2026",
  "19bfe27ea6006f7443cb8c536506b5dabd63e0201b6e6f317706ce546b37899c": "as in jsonschema 4.26.0 for Python",
};

/** No registry of npm or cargo carries a recent edition; the source distribution of this Python package does. */
const PYTHON_PACKAGE = {
  requirement: "jsonschema==4.26.0",
  archive: "jsonschema-4.26.0.tar.gz",
  sha256: "0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326",
  folder: join("jsonschema-4.26.0", "json"),
};

/**
 * Puts the suite into place if it is not there: from a folder that OPERATIONS_JSON_SCHEMA_SUITE names, or that stands
 * beside the clone, or else from the Python package, through pip. Whether it is there afterwards.
 */
export function ensureSuite() {
  if (editionOf(DESTINATION) !== undefined) return true;
  heading("get the JSON Schema test suite");
  const named = process.env.OPERATIONS_JSON_SCHEMA_SUITE;
  const beside = join(root, "..", "shared", "data", "json-schema-test-suite");
  if (named !== undefined) return take(named);
  return (existsSync(beside) && take(beside)) || takeFromPython();
}

/** Copies a suite that is one of the known editions, in one step, so that half a copy is never mistaken for one. */
function take(folder) {
  const edition = editionOf(folder);
  if (edition === undefined) {
    console.error(
      `${folder} is no edition of the suite that we know (checksum ${checksum(folder) ?? "of nothing"}).`,
    );
    return false;
  }
  const copy = `${DESTINATION}.${process.pid}`;
  for (const part of PARTS) cpSync(join(folder, part), join(copy, part), { recursive: true });
  rmSync(DESTINATION, { recursive: true, force: true });
  renameSync(copy, DESTINATION);
  console.log(`JSON Schema test suite, ${edition}`);
  return true;
}

function takeFromPython() {
  const folder = mkdtempSync(join(tmpdir(), "operations-json-schema-suite-"));
  try {
    const requirements = join(folder, "requirements.txt");
    writeFileSync(requirements, `${PYTHON_PACKAGE.requirement} --hash=sha256:${PYTHON_PACKAGE.sha256}\n`);
    const download = ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "jsonschema"];
    const arrived =
      pythons().some(
        (python) =>
          attempt(python, [...download, "--require-hashes", "-r", requirements], { cwd: folder }) === 0,
      ) &&
      // By its name alone: to some versions of tar, `C:` is the name of a machine.
      attempt("tar", ["-xzf", PYTHON_PACKAGE.archive], { cwd: folder }) === 0;
    return arrived && take(join(folder, PYTHON_PACKAGE.folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const pythons = () =>
  ["python3", "python", "py"].filter((name) => spawnSync(name, ["-m", "pip", "--version"]).status === 0);

/** The name of the edition in a folder; undefined if there is none, or one that we do not know. */
const editionOf = (folder) => EDITIONS[checksum(folder)];

/** One checksum over the names and the contents of all files that the tests read. */
function checksum(folder) {
  const hash = createHash("sha256");
  for (const part of PARTS) {
    const path = join(folder, part);
    if (!existsSync(path)) return undefined;
    const files = readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
      .map((file) => [relative(folder, file).replaceAll("\\", "/"), file]);
    for (const [name, file] of files.sort(([a], [b]) => (a < b ? -1 : 1))) {
      hash.update(`${name}\0`).update(createHash("sha256").update(readFileSync(file)).digest());
    }
  }
  return hash.digest("hex");
}

if (isMain(import.meta.url) && !ensureSuite()) {
  console.error(
    "There is no JSON Schema test suite. Getting it takes Python with pip, or a copy (see this script).",
  );
  process.exit(1);
}
