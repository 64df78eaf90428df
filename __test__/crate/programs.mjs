// The examples of the crate for Rust programs, as programs. They are compiled with what `cargo test` has compiled.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { missing } from "../support/skips.mjs";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** Left out where there is no Rust compiler. */
export const withoutCargo = () =>
  spawnSync("cargo", ["--version"], { stdio: "ignore" }).error !== undefined &&
  missing("cargo is not installed (https://rustup.rs)");

/** Compiles an example, and returns its path. */
export function compileExample(name) {
  const args = ["build", "--locked", "--all-features", "--examples", "--message-format=json"];
  const { status, stdout, stderr } = spawnSync("cargo", args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`cargo ${args.join(" ")} failed\n${stderr}`);
  for (const line of stdout.split("\n")) {
    const { target, executable } = line.startsWith("{") ? JSON.parse(line) : {};
    if (target?.kind.includes("example") && target.name === name) return executable;
  }
  throw new Error(`There is no example ${name}`);
}

/** Starts a program, and waits for its first line. */
export async function start(program, args) {
  const child = spawn(program, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([
    once(lines, "line"),
    ended.then(([code]) => Promise.reject(new Error(`${program} ended with ${code}`))),
  ]);
  return {
    line,
    async stop() {
      // On Windows a signal is the end at once.
      child.kill("SIGINT");
      const [code, signal] = await ended;
      return { code, signal };
    },
  };
}

export const script = (name) => join(root, "examples", name);
