// Run by npm where the sources of this repository are about to be used as if they were the package. They are not: a package
// has a binary for each platform, in packages of their own.

const HOW = [
  "To build it from source (needs Rust, https://rustup.rs): clone the repository and run `npm run pack:local`,",
  "then install the files that it leaves in pack/: npm install pack/*.tgz",
];

/** Whether npm prepares a clone for a project that depends on a git address. */
const isGitDependency = process.env._PACOTE_NO_PREPARE_ !== undefined;

if (process.argv.includes("--publish")) {
  console.error(
    "A release is published from its tarballs, platform packages first: push a tag (CONTRIBUTING.md, Releasing), or run `node scripts/publish.mjs pack`.",
  );
  process.exit(1);
}
if (isGitDependency) {
  console.error(
    ["@alkdev/operations cannot be installed from a git address: it has a native part.", ...HOW].join("\n"),
  );
  process.exit(1);
}
