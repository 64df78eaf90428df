// npm run build:guided: the addon as we ship it where we can. The compiler is given a profile of what ran how often (profile-guided
// optimisation), so that what is hot is laid out for speed and what never ran takes little room.
//
//   node scripts/guided.mjs                   profile and build
//   node scripts/guided.mjs --profile FILE    only make the profile
//   node scripts/guided.mjs --with FILE       only build, with that profile: with another one the addon is another one
//
// The profile belongs to the target that it was made on, because the names of functions differ between targets.

import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { ensureBrokers } from "./brokers.mjs";
import {
  buildFacade,
  ensureInstalled,
  heading,
  installAddon,
  output,
  printPhases,
  remapPaths,
  root,
  run,
} from "./lib.mjs";

/** What is run to see what is hot: the benchmarks, as short as they go. A part that is not in here is not wrong afterwards, only smaller. */
const TRAINING = [
  ["execute", "--quick"],
  ["schema"],
  ["mcp", "--quick"],
  ["call", "nats"],
  ["call", "redis"],
  ["sse", "--bytes=4000000", "--rounds=1"],
  ["http", "--requests=2000", "--rounds=2"],
  ["import", "2"],
  ["tools", "2"],
  ["serve-mcp", "2", "500"],
  ["serve", "--requests=4000", "--rounds=2"],
  ["hub", "--calls=6000", "--rounds=2", "--spokes=50"],
];

const option = (name) => {
  const at = process.argv.indexOf(name);
  return at === -1 ? undefined : process.argv[at + 1];
};

const folder = join(root, "target", "guided");
const [, host] = /^host: (.+)$/m.exec(output("rustc", ["-vV"]));

ensureInstalled();
const wanted = option("--profile");
const profile = option("--with") ?? makeProfile();
if (wanted !== undefined) copyFileSync(profile, wanted);
else build("with the profile", [`-Cprofile-use=${nameByContent(profile)}`]);
printPhases();

/** Builds an addon that counts, lets it work, and returns the file with what it counted. */
function makeProfile() {
  const counts = join(folder, "counts");
  rmSync(counts, { recursive: true, force: true });
  mkdirSync(counts, { recursive: true });
  build("that counts", [`-Cprofile-generate=${counts}`]);
  buildFacade();
  const missing = ensureBrokers({ wanted: true });
  const parts = [];
  for (const [index, [name, ...args]] of TRAINING.entries()) {
    if (name === "call" && missing.includes(`${args[0]}-server`)) {
      console.log(`LEFT OUT: what calls over ${args[0]} do, because there is no ${args[0]}-server`);
      continue;
    }
    heading(`profile of ${name} ${args.join(" ")}`);
    const part = join(counts, `${index}-${name}`);
    run(process.execPath, ["--expose-gc", join(root, "bench", `${name}.bench.mjs`), ...args], {
      // %m: processes add to one file.
      env: { OPERATIONS_BENCH_SCALE: "0.1", LLVM_PROFILE_FILE: join(part, "%m.profraw") },
    });
    parts.push(part);
  }
  heading("put the profile together");
  const merged = join(folder, "merged.profdata");
  const totals = parts.map((part) => totalCount(part));
  const most = Math.max(...totals);
  // Each part counts the same: reading one large document runs more code than ten thousand calls.
  const inputs = parts.map((part, index) => `--weighted-input=${Math.round(most / totals[index])},${part}`);
  run(profdata(), ["merge", "--output", merged, ...inputs]);
  return merged;
}

/** How often anything ran, in the counts of a folder. */
function totalCount(part) {
  const merged = `${part}.profdata`;
  run(profdata(), ["merge", "--output", merged, part]);
  return Number(/^Total count: (\d+)$/m.exec(output(profdata(), ["show", merged]))[1]);
}

function build(what, flags) {
  heading(`build the addon ${what}`);
  // With a target, build scripts and macros are compiled without the flags.
  run(
    "cargo",
    [
      "build",
      "--package",
      "operations-napi",
      "--release",
      "--locked",
      "--target",
      host,
      "--config",
      remapPaths(flags),
    ],
    { env: { CARGO_TARGET_DIR: folder } },
  );
  installAddon(join(folder, host, "release"));
}

/** A copy of a profile that is named after what is in it: cargo looks at the flags, not into the file. */
function nameByContent(file) {
  const hash = createHash("sha256").update(readFileSync(file)).digest("hex");
  const copy = join(folder, `${hash.slice(0, 16)}.profdata`);
  mkdirSync(folder, { recursive: true });
  copyFileSync(resolve(file), copy);
  return copy;
}

/** The program of the compiler's own LLVM: one of another version may not read the counts. */
function profdata() {
  const program = join(
    output("rustc", ["--print", "sysroot"]).trim(),
    ...["lib", "rustlib", host, "bin", process.platform === "win32" ? "llvm-profdata.exe" : "llvm-profdata"],
  );
  if (!existsSync(program)) run("rustup", ["component", "add", "llvm-tools"]);
  return program;
}
