import type { NativeBinding } from "./native-binding.js";

const BINARY = "operations";
const PACKAGE = "@alkdev/operations";

/** The platform packages that exist, by `process.platform` and `process.arch`. On Linux the one
 * whose C library fits loads and the other does not, so both are tried. */
const PLATFORMS: Record<string, readonly string[]> = {
  "linux-x64": ["linux-x64-gnu", "linux-x64-musl"],
  "linux-arm64": ["linux-arm64-gnu", "linux-arm64-musl"],
  "darwin-x64": ["darwin-x64"],
  "darwin-arm64": ["darwin-arm64"],
  "win32-x64": ["win32-x64-msvc"],
  "win32-arm64": ["win32-arm64-msvc"],
};

/** Loads the addon: one built in this checkout if there is one, else the installed platform package. */
export function loadNative(): NativeBinding {
  const platform = `${process.platform}-${process.arch}`;
  const failures: string[] = [];
  for (const triple of PLATFORMS[platform] ?? []) {
    for (const candidate of [`../${BINARY}.${triple}.node`, `${PACKAGE}-${triple}`]) {
      try {
        return require(candidate) as NativeBinding;
      } catch (error) {
        if (!isAbsent(error, candidate)) failures.push(`${candidate}: ${firstLine(error)}`);
      }
    }
  }
  throw new Error(explain(platform, failures));
}

function isAbsent(error: unknown, candidate: string): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return code === "MODULE_NOT_FOUND" && String(message).includes(candidate);
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n", 1).join("");
}

function explain(platform: string, failures: readonly string[]): string {
  const known = PLATFORMS[platform];
  const wanted = known?.map((triple) => `${PACKAGE}-${triple}`).join(" or ");
  const lines = [
    `${PACKAGE} has no native binary for this platform (${platform}, Node-API ${process.versions.napi ?? "unknown"}).`,
    wanted === undefined
      ? `There is no prebuilt package for it; there are packages for ${Object.keys(PLATFORMS).join(", ")}.`
      : `The package that is missing: ${wanted}. It is an optional dependency: install again without --omit=optional (or --no-optional), and if node_modules was copied from another system, delete it and install here.`,
    "To build from source (needs Rust, https://rustup.rs): clone the repository and run `npm run pack:local`, then install the files that it leaves in pack/.",
  ];
  if (failures.length > 0) lines.push("What was found did not load:", ...failures.map((line) => `  ${line}`));
  return lines.join("\n");
}
