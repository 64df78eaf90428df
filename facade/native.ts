import { existsSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import type { NativeBinding } from "./native-binding.js";

const PACKAGE = "@alkdev/operations";
const PATH_VARIABLE = "OPERATIONS_NATIVE_PATH";
/** Of what the system or a module says about a failure. In characters. */
const LONGEST_REASON = 1_000;

/** The platform packages by `process.platform` and `process.arch`. */
const PLATFORMS: Record<string, readonly string[]> = {
  "linux-x64": ["linux-x64-gnu", "linux-x64-musl"],
  "linux-arm64": ["linux-arm64-gnu", "linux-arm64-musl"],
  "darwin-x64": ["darwin-x64"],
  "darwin-arm64": ["darwin-arm64"],
  "win32-x64": ["win32-x64-msvc"],
  "win32-arm64": ["win32-arm64-msvc"],
};

/** The addon, or why it was not to be had. */
type Attempt = { native: NativeBinding; error?: undefined } | { native?: undefined; error: unknown };

/** Literal names in a `try`: bundlers, compilers and tracers take the package that is installed, and go on without the others. */
function loadPackage(triple: string): Attempt {
  try {
    switch (triple) {
      case "linux-x64-gnu":
        return found(require("@alkdev/operations-linux-x64-gnu"));
      case "linux-x64-musl":
        return found(require("@alkdev/operations-linux-x64-musl"));
      case "linux-arm64-gnu":
        return found(require("@alkdev/operations-linux-arm64-gnu"));
      case "linux-arm64-musl":
        return found(require("@alkdev/operations-linux-arm64-musl"));
      case "darwin-x64":
        return found(require("@alkdev/operations-darwin-x64"));
      case "darwin-arm64":
        return found(require("@alkdev/operations-darwin-arm64"));
      case "win32-x64-msvc":
        return found(require("@alkdev/operations-win32-x64-msvc"));
      default:
        return found(require("@alkdev/operations-win32-arm64-msvc"));
    }
  } catch (error) {
    return { error };
  }
}

/** The addon and where it was found: the file that `OPERATIONS_NATIVE_PATH` names, else one built in this checkout, else the
 * installed platform package. */
export function loadNative(): { native: NativeBinding; from: string } {
  const named = process.env[PATH_VARIABLE];
  if (named) {
    const { native, error } = isSpecialFile(named)
      ? { error: "not a regular file" }
      : loadFile(resolve(named));
    if (native !== undefined) return { native, from: `${PATH_VARIABLE}=${named}` };
    throw refused([`${PATH_VARIABLE}=${named}: ${reasonOf(error)}`]);
  }
  const failures: string[] = [];
  for (const [from, load] of candidates()) {
    const { native, error } = load();
    if (native !== undefined) return { native, from };
    if (!isAbsent(error)) failures.push(`${from}: ${reasonOf(error)}`);
  }
  throw failures.length > 0 ? refused(failures) : missing();
}

function* candidates(): Generator<[from: string, load: () => Attempt]> {
  const triples = [...(PLATFORMS[platform] ?? [])];
  // A library for glibc may load on a system with musl, and crash later.
  if (triples.length > 1 && isMusl()) triples.reverse();
  for (const triple of triples) {
    // A bundle may have no folder that it knows of.
    const file = typeof __dirname === "string" ? join(__dirname, "..", `operations.${triple}.node`) : "";
    if (exists(file)) yield [file, () => loadFile(file)];
    yield [`${PACKAGE}-${triple}`, () => loadPackage(triple)];
  }
}

const platform = `${process.platform}-${process.arch}`;

function loadFile(file: string): Attempt {
  try {
    return found(createRequire(file)(file));
  } catch (error) {
    return { error };
  }
}

/** What a `require` gave. Some bundlers copy the addon and give the path of the copy. */
function found(loaded: unknown): Attempt {
  const value = (loaded as { default?: unknown }).default ?? loaded;
  if (typeof value === "string") {
    return loadFile(typeof __dirname === "string" ? resolve(__dirname, value) : resolve(value));
  }
  if (typeof (value as Partial<NativeBinding>).Runtime === "function") {
    return { native: value as NativeBinding };
  }
  return { error: new Error(`not the native binary of ${PACKAGE}`) };
}

/** Whether the C library of this system is musl. The report that knows takes milliseconds, so it is read only where musl is
 * installed at all, as it may be on a system with glibc. */
function isMusl(): boolean {
  if (!["x86_64", "aarch64"].some((arch) => exists(`/lib/ld-musl-${arch}.so.1`))) return false;
  const report = process.report?.getReport?.() as { header?: { glibcVersionRuntime?: string } } | undefined;
  return report !== undefined && report.header?.glibcVersionRuntime === undefined;
}

/** Node 20 throws where its permission model does not allow to read it. */
function exists(file: string): boolean {
  try {
    return existsSync(file);
  } catch {
    return false;
  }
}

/** A pipe or a device: reading it might never end. */
function isSpecialFile(file: string): boolean {
  try {
    const stats = statSync(file);
    return !stats.isFile() && !stats.isDirectory();
  } catch {
    return false;
  }
}

/** Single executables of Node say `ERR_UNKNOWN_BUILTIN_MODULE`: they can only load what is in Node. */
function isAbsent(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const isNotFound = /MODULE_NOT_FOUND$|^ERR_UNKNOWN_BUILTIN_MODULE$/.test(String(code));
  return isNotFound && String(message).includes(PACKAGE);
}

/** The first line, and not more than a screen shows of it. */
function reasonOf(error: unknown): string {
  const [line = ""] = (error instanceof Error ? error.message : String(error)).split("\n", 1);
  return line.length > LONGEST_REASON ? `${line.slice(0, LONGEST_REASON)}...` : line;
}

const where = `${platform}, Node-API ${process.versions.napi ?? "unknown"}`;

/** What to do about a native binary that is there and does not load, by what the system says. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [
    /require is not defined|Dynamic require of/,
    'The program is bundled as an ES module, which has no `require`. Bundle as CommonJS, or begin the bundle with: import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
  ],
  [
    /\bffi access\b|--allow-ffi/i,
    "Deno has to be started with --allow-ffi (and --allow-read, --allow-env, --allow-sys).",
  ],
  [
    /loading is disabled|ERR_DLOPEN_DISABLED|no-addons|loading addons/i,
    "Node has to be started with --allow-addons next to --permission, and without --no-addons.",
  ],
  [
    /access to this API has been restricted|read access/i,
    "The program may not read the file: --allow-fs-read (Node) or --allow-read (Deno) has to name node_modules.",
  ],
  [
    /GLIBC_|ld-linux|libc\.so|libc\.musl|ld-musl|Error loading shared library/,
    "It is built for another C library than that of this system. Delete node_modules and install on this system: npm chooses by the C library. glibc has to be 2.17 or newer.",
  ],
  [/not the native binary/, "Name the file operations.<platform>.node of the platform package."],
  [
    /no such file|cannot open shared object|cannot find module|ENOENT/i,
    "The file, or a library that it needs, is missing.",
  ],
];

function refused(failures: readonly string[]): Error {
  const text = failures.join("\n");
  const advice = ADVICE.find(([pattern]) => pattern.test(text))?.[1];
  return new Error(
    [
      `${PACKAGE} cannot load its native binary (${where}):`,
      ...failures.map((line) => `  ${line}`),
      advice ??
        "It may be damaged, or made for another system: delete node_modules and install again, here and not in a copy.",
    ].join("\n"),
  );
}

function missing(): Error {
  const wanted = (PLATFORMS[platform] ?? []).map((triple) => `${PACKAGE}-${triple}`);
  return new Error(
    [
      `${PACKAGE} has no native binary for this platform (${where}).`,
      wanted.length === 0
        ? `There is no prebuilt package for it; there are packages for ${Object.keys(PLATFORMS).join(", ")}.`
        : `The package that is missing: ${wanted.join(" or ")}. It is an optional dependency: install again without --omit=optional (or --no-optional), and if node_modules or the lock file was made on another system, delete them and install here.`,
      `If the program is bundled or a single executable, ${PATH_VARIABLE} can name the file (operations.<platform>.node).`,
      "To build from source (needs Rust, https://rustup.rs): clone the repository and run `npm run pack:local`, then install the files that it leaves in pack/.",
    ].join("\n"),
  );
}
