// node scripts/publish.mjs <folder> [--dry-run] [--no-provenance] [--version=<version>]: publishes the tarballs of a release, as
// .github/workflows/publish.yml does. The platform packages go first, so that no one can install the package
// without them. What is already published is skipped, so a run that broke off can be repeated.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { output, root, run } from "./lib.mjs";

const args = process.argv.slice(2);
const dryRun = args.includes("--dry-run");
// Only a workflow of GitHub's can sign a statement of origin; `npm run rehearse` is none.
const withProvenance = !dryRun && !args.includes("--no-provenance");
const otherVersion = args.find((arg) => arg.startsWith("--version="))?.slice("--version=".length);
const [folder] = args.filter((arg) => !arg.startsWith("--"));
if (folder === undefined) {
  console.error("Which folder holds the tarballs?");
  process.exit(1);
}

const manifests = [...readdirSync(join(root, "npm")).map((triple) => join("npm", triple)), "."];
const packages = manifests.map((path) => {
  const manifest = JSON.parse(readFileSync(join(root, path, "package.json"), "utf8"));
  const { name, version = manifest.version } = { name: manifest.name, version: otherVersion };
  return { name, version, tarball: resolve(folder, `${name.slice(1).replace("/", "-")}-${version}.tgz`) };
});

// All or nothing: a release that lacks a platform is noticed before the first package is out.
const missing = packages.filter(({ tarball }) => !existsSync(tarball));
if (missing.length > 0) {
  console.error(`Missing:\n${missing.map(({ tarball }) => `  ${tarball}`).join("\n")}`);
  process.exit(1);
}

for (const { name, version, tarball } of packages) {
  if (isPublished(name, version)) {
    console.log(`${name}@${version} is published already`);
    continue;
  }
  run("npm", [
    "publish",
    tarball,
    "--access",
    "public",
    // A prerelease must not become what people get by default.
    ...(version.includes("-") ? ["--tag", "next"] : []),
    `--provenance=${withProvenance}`,
    ...(dryRun ? ["--dry-run"] : []),
  ]);
}

/** Whether the registry has this version. Anything but a clear yes or no ends the run. */
function isPublished(name, version) {
  try {
    // An older npm prints nothing for a version that does not exist, a newer one fails with E404.
    return output("npm", ["view", `${name}@${version}`, "version", "--json"]).trim() !== "";
  } catch (error) {
    if (/"code":\s*"E404"/.test(error.message)) return false;
    throw error;
  }
}
