// What the scripts share. Only Node's own modules: these run before anything is installed.

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { bindingText } from "./native-binding.mjs";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const windows = process.platform === "win32";

/** Runs a command and ends this process if it fails. */
export function run(command, args, options = {}) {
  const outcome = attempt(command, args, options);
  if (outcome !== 0) {
    console.error(`\nfailed (${outcome}): ${command} ${args.join(" ")}`);
    process.exit(1);
  }
}

/** Runs a command beside others, and ends this process if it fails. */
async function runBeside(command, args) {
  const child = spawn(command, args, { cwd: root, stdio: "inherit", shell: windows && command === "npm" });
  const [code] = await once(child, "exit");
  if (code === 0) return;
  console.error(`\nfailed (${code}): ${command} ${args.join(" ")}`);
  process.exit(1);
}

/** Runs a command and returns its exit code. */
export function attempt(command, args, { cwd = root, env, ...options } = {}) {
  const { status, error } = spawnSync(command, args, {
    cwd,
    stdio: "inherit",
    env: { ...process.env, ...env },
    // npm is a script on Windows, which only a shell can start.
    shell: windows && command === "npm",
    ...options,
  });
  if (error) console.error(`${command}: ${error.message}`);
  return status ?? 1;
}

/** Runs a command and returns what it printed. */
export function output(command, args, options = {}) {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    shell: windows && command === "npm",
    ...options,
  });
  if (status !== 0) {
    throw new Error(`${command} ${args.join(" ")} failed (${status})\n${stdout}${stderr}`);
  }
  return stdout;
}

/** Runs a tool of node_modules with this very Node. */
export function tool(packageName, bin, args, options) {
  run(process.execPath, [join(root, "node_modules", packageName, bin), ...args], options);
}

/** Compiles a TypeScript project with TypeScript 7, which takes a fifth of the time of 5.9. What needs the compiler as a library
 * (TypeDoc, the tests of the declarations) still has 5.9, and the type tests pass with both. */
export function compile(project) {
  tool("typescript-7", "bin/tsc", ["-p", project]);
}

const phases = [];

/** Begins a phase of a script. */
export function heading(text) {
  console.log(`\n\x1b[1m== ${text}\x1b[0m`);
  phases.push({ text, started: Date.now() });
}

/** Prints how long each phase took, the present one included. */
export function printPhases() {
  heading("times");
  for (const [index, { text, started }] of phases.slice(0, -1).entries()) {
    console.log(`${seconds(phases[index + 1].started - started).padStart(7)}  ${text}`);
  }
}

export const seconds = (milliseconds) => `${(milliseconds / 1000).toFixed(1)} s`;

/** Whether a module is the program that runs, rather than imported by another one. */
export const isMain = (moduleUrl) =>
  process.argv[1] !== undefined && pathToFileURL(realpathSync(process.argv[1])).href === moduleUrl;

const NPM_CI = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];

/** What the installed dependencies have to match, and the file that says what they do. */
function installedStamp() {
  // Not all of package.json: a new script is no reason to install anything.
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const expected = createHash("sha256")
    .update(JSON.stringify({ dependencies, devDependencies }))
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
  return { file: join(root, "node_modules", ".operations-stamp"), expected };
}

/** Whether a stamp file says what it has to. */
const matches = ({ file, expected }) => existsSync(file) && readFileSync(file, "utf8") === expected;

/** Installs the dependencies if they are not there, or not those of the lock file. */
export function ensureInstalled() {
  const stamp = installedStamp();
  if (matches(stamp)) return;
  heading("install dependencies");
  run("npm", NPM_CI);
  writeFileSync(stamp.file, stamp.expected);
}

/** The name of the platform package for the machine at hand. */
export function hostTriple() {
  const { platform, arch } = process;
  if (platform === "linux") {
    const glibc = process.report.getReport().header.glibcVersionRuntime;
    return `linux-${arch}-${glibc ? "gnu" : "musl"}`;
  }
  return platform === "win32" ? `win32-${arch}-msvc` : `${platform}-${arch}`;
}

export const addonFile = (triple = hostTriple()) => `operations.${triple}.node`;

/**
 * Writes a configuration for cargo that keeps the paths of this machine out of an addon, and returns where it is. The messages of
 * panics name source files; a release must neither tell who built it nor differ by where it was built. `more` are further flags
 * for rustc.
 */
export function remapPaths(more = []) {
  const cargo = process.env.CARGO_HOME ?? join(homedir(), ".cargo");
  const flags = [`--remap-path-prefix=${cargo}=cargo`, `--remap-path-prefix=${root}=operations`, ...more];
  const file = join(ensureDirectory(join(root, "target")), "remap-paths.toml");
  // Flags of several matching targets are joined; those of `build` would be ignored where .cargo/config.toml has some.
  writeFileSync(file, `[target.'cfg(all())']\nrustflags = ${JSON.stringify(flags)}\n`);
  return file;
}

/** What napi-derive says about the addon that is being compiled (.cargo/config.toml). */
const typeDefinitions = join(root, "target", "type-def", "operations-napi");

/** How cargo is called for the addon. */
function addonBuild({ profile, features = [] }) {
  // What is there afterwards is new.
  rmSync(typeDefinitions, { force: true });
  const args = ["build", "--package", "operations-napi", "--profile", profile, "--locked"];
  if (profile === "release") args.push("--config", remapPaths());
  if (features.length > 0) args.push("--features", features.join(","));
  const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");
  return { args, folder: join(target, profile === "dev" ? "debug" : profile) };
}

/** Builds the addon with cargo and puts it where the loader finds it. */
export function buildAddon(options) {
  heading(`build the addon (${options.profile})`);
  const { args, folder } = addonBuild(options);
  run("cargo", args);
  installAddon(folder, options);
}

/** What tests, the tour and the examples run on. */
const FOR_TESTS = { profile: "dev", features: ["test-hooks"] };

/** Builds the addon that the tests need. */
export const buildTestAddon = () => buildAddon(FOR_TESTS);

/**
 * Installs the dependencies and builds the addon of the tests, as far as either is not there. Both at once: one
 * waits for the network, the other for the compiler.
 */
export async function prepare() {
  const stamp = installedStamp();
  const steps = [];
  const isInstalled = matches(stamp);
  const { args, folder } = addonBuild(FOR_TESTS);
  const isBuilt = isTestAddonCurrent();
  if (isInstalled && isBuilt) return;
  const names = [!isInstalled && "install dependencies", !isBuilt && "build the addon (dev)"];
  heading(names.filter(Boolean).join(", "));
  if (!isInstalled) {
    steps.push(runBeside("npm", NPM_CI).then(() => writeFileSync(stamp.file, stamp.expected)));
  }
  if (!isBuilt) steps.push(runBeside("cargo", args).then(() => installAddon(folder, FOR_TESTS)));
  await Promise.all(steps);
}

/** A digest of sources: of the files that git tracks or would track under some paths, as they are in the work tree. */
function digest(paths, isCounted = () => true) {
  const hash = createHash("sha256");
  const listing = output("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z", ...paths]);
  for (const path of [...new Set(listing.split("\0"))].sort()) {
    const file = join(root, path);
    if (path !== "" && isCounted(path) && existsSync(file))
      hash.update(`${path}\0`).update(readFileSync(file));
  }
  return hash.digest("hex");
}

/** A digest of everything that the addon is compiled from. Tests of the crates are not part of it. */
export const rustSources = () =>
  digest(
    ["Cargo.toml", "Cargo.lock", "build.rs", "rust-toolchain.toml", ".cargo", "src", "crates"],
    (path) => !/\/tests\//.test(path),
  );

/** Beside the addon: which sources it was built from, and how. */
const addonStamp = ({ profile = "release", features = [] } = {}) => ({
  file: join(root, `${addonFile()}.sources`),
  expected: [rustSources(), profile, ...features].join(" "),
});

/** Whether the addon in the work tree is the one that the tests need. */
export const isTestAddonCurrent = () => existsSync(join(root, addonFile())) && matches(addonStamp(FOR_TESTS));

/** Whether the addon in the work tree was built from the sources that are there now, in whatever way. */
export function isAddonCurrent() {
  const { file, expected } = addonStamp();
  const [sources] = expected.split(" ");
  return (
    existsSync(join(root, addonFile())) && existsSync(file) && readFileSync(file, "utf8").startsWith(sources)
  );
}

/** Puts the addon that cargo left in a folder where the loader finds it. */
export function installAddon(folder, options) {
  const library = {
    linux: "liboperations_napi.so",
    darwin: "liboperations_napi.dylib",
    win32: "operations_napi.dll",
  }[process.platform];
  // Put in place by its name: a process that has the old one loaded keeps it, instead of crashing on changed code.
  const fresh = join(root, `${addonFile()}.new`);
  copyFileSync(join(folder, library), fresh);
  renameSync(fresh, join(root, addonFile()));
  stampAddon(options);
  if (options?.features?.includes("test-hooks") && existsSync(typeDefinitions)) writeBinding();
}

/** Writes the declarations of what the addon exports. They are in the repository, so in CI they must be there already. */
function writeBinding() {
  const file = join(root, "facade", "native-binding.ts");
  const text = bindingText(readFileSync(typeDefinitions, "utf8"));
  if (readFileSync(file, "utf8") === text) return;
  writeFileSync(file, text);
  if (process.env.CI !== "true") return;
  console.error(
    "facade/native-binding.ts is not that of these sources. Commit what `npm run build:dev` writes",
  );
  process.exit(1);
}

/** Notes that the addon in the work tree was built from the sources that are there now. */
export function stampAddon(options) {
  const { file, expected } = addonStamp(options);
  writeFileSync(file, expected);
}

/** Which sources the facade was compiled from. */
const facadeStamp = () => ({
  file: join(ensureDirectory(join(root, "target")), "facade.sources"),
  expected: digest(["facade", "explorer", "scripts", "package.json"]),
});

/** Compiles the facade unless it has been, from the same sources. */
export function ensureFacade() {
  if (!existsSync(join(root, "dist", "index.mjs")) || !matches(facadeStamp())) buildFacade();
}

/** Compiles what the reference is made of. Needs no addon. */
export function ensureDeclarations() {
  if (!existsSync(join(root, "dist", "index.d.ts"))) compile("facade");
}

/** Compiles the facade, and writes the ES module wrappers around it and the entries without native code. */
export function buildFacade() {
  heading("build the facade");
  const stamp = facadeStamp();
  rmSync(stamp.file, { force: true });
  // What a source left that is gone now would be packed.
  rmSync(join(root, "dist"), { recursive: true, force: true });
  compile("facade");
  run(process.execPath, [join(root, "scripts", "bundle-node.mjs")]);
  run(process.execPath, [join(root, "scripts", "build-worker.mjs")]);
  run(process.execPath, [join(root, "scripts", "write-esm-wrappers.mjs")]);
  run(process.execPath, [join(root, "scripts", "build-browser.mjs")]);
  buildExplorer();
  writeFileSync(stamp.file, stamp.expected);
}

/** Compiles the explorer, and puts everything that its page needs into one folder, and what is in the folder into a module. */
function buildExplorer() {
  const [source, target] = [join(root, "explorer"), join(root, "dist", "explorer")];
  compile("explorer");
  for (const name of readdirSync(source).filter((name) => /\.(html|css|svg)$/.test(name))) {
    copyFileSync(join(source, name), join(target, name));
  }
  const files = readdirSync(target).map((name) => ({ name, text: readFileSync(join(target, name), "utf8") }));
  const text = `module.exports = ${JSON.stringify(files, undefined, 1)};\n`;
  writeFileSync(join(root, "dist", "serve", "explorer-files.js"), text);
}

export function ensureDirectory(path) {
  mkdirSync(path, { recursive: true });
  return path;
}
