// What is said when the native binary is there and does not load (`processes.test.mjs`: where it is missing).

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { runModule } from "./support/run-node.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "operations-load-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** What loading the package in a folder prints to standard error. */
function load(from, { env = {}, flags = [] } = {}) {
  const code = `require(${JSON.stringify(join(from, "dist", "index.js"))})`;
  const options = { encoding: "utf8", env: { ...process.env, ...env }, timeout: 60_000 };
  const { status, stderr } = spawnSync(process.execPath, [...flags, "-e", code], options);
  assert.notEqual(status, 0);
  return stderr;
}

/** The package as it is installed, with a platform package for each system that throws this text when it is loaded. */
function installed(name, thrown) {
  const modules = join(folder, name, "node_modules");
  mkdirSync(join(modules, "@alkdev"), { recursive: true });
  cpSync(join(root, "dist"), join(folder, name, "dist"), { recursive: true });
  for (const scope of ["@sinclair", "@logtape"]) {
    symlinkSync(join(root, "node_modules", scope), join(modules, scope), "junction");
  }
  const { platform, arch } = process;
  const abi = { linux: "-gnu", win32: "-msvc" }[platform] ?? "";
  const platformPackage = `@alkdev/operations-${platform}-${arch}${abi}`;
  mkdirSync(join(modules, platformPackage));
  writeFileSync(join(modules, platformPackage, "index.js"), `throw new Error(${JSON.stringify(thrown)})`);
  return { at: join(folder, name), platformPackage };
}

describe("OPERATIONS_NATIVE_PATH", () => {
  const file = (name, text) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const pipe = join(folder, "pipe.node");
  if (process.platform !== "win32") spawnSync("mkfifo", [pipe]);
  for (const [what, path, expected] of [
    ...(process.platform === "win32" ? [] : [["a pipe", pipe, /not a regular file/]]),
    ["a file that is missing", join(folder, "missing.node"), /Cannot find module/],
    ["a file that is no library", file("text.node", "text"), /does not|invalid|not a|too short|slice/i],
    [
      "a module that is something else",
      file("other.js", "exports.a = 1"),
      /not the native binary of @alkdev/,
    ],
  ]) {
    it(`OPERATIONS_NATIVE_PATH with ${what} is refused with its path and the reason`, () => {
      const text = load(root, { env: { OPERATIONS_NATIVE_PATH: path } });
      const [, line] = /cannot load its native binary \(.*\):\r?\n(.*)/.exec(text) ?? assert.fail(text);
      assert.ok(line.startsWith(`  OPERATIONS_NATIVE_PATH=${path}: `), line);
      assert.match(line, expected);
      assert.ok(!text.includes("no native binary for this platform"));
    });
  }
});

describe("the platform package", () => {
  it("a platform package for another C library is named with the reason and what to do", () => {
    const reason = "libc.musl-x86_64.so.1: cannot open shared object file: No such file or directory";
    const { at, platformPackage } = installed("libc", reason);
    const text = load(at);
    assert.ok(text.includes(`  ${platformPackage}: ${reason}`), text);
    assert.match(text, /another C library than that of this system/);
    assert.ok(!text.includes("no native binary for this platform"));
  });

  it("an error of megabytes while the package is loaded is cut", () => {
    const { at, platformPackage } = installed("long", "x".repeat(2 ** 21));
    const text = load(at);
    assert.match(text, new RegExp(`  ${platformPackage}: x+\\.\\.\\.\\n`));
    assert.ok(text.length < 10_000, `${text.length} characters`);
  });

  const permission = ["--permission", "--experimental-permission"].find((each) =>
    process.allowedNodeEnvironmentFlags.has(each),
  );

  it("with permission for addons and for the folder of the program, the package loads", () => {
    const code = `require(${JSON.stringify(root)})`;
    const flags = [permission, "--allow-addons", `--allow-fs-read=${root}`];
    const { status, stderr } = spawnSync(process.execPath, [...flags, "-e", code], { encoding: "utf8" });
    assert.equal(status, 0, stderr);
  });

  it("without permission to load addons, the missing flag is named", () => {
    const text = load(root, { flags: [permission, "--allow-fs-read=*"] });
    assert.match(text, /cannot load its native binary .*\n.*loading addons is disabled/);
    assert.match(text, /--allow-addons/);
  });
});

describe("import() of the package where its native binary does not load", () => {
  it("a program that catches what import() rejects with goes on", async () => {
    const source = `
      for (const entry of ["@alkdev/operations", "@alkdev/operations/serve"]) {
        await import(entry).catch(({ message }) => console.log(message.split("\\n", 1)[0]));
        await new Promise(setImmediate);
      }
      console.log("on");`;
    const env = { ...process.env, OPERATIONS_NATIVE_PATH: join(folder, "missing.node") };
    const { stdout, stderr } = await runModule(source, { env });
    assert.equal(stderr, "");
    assert.match(stdout, /^(@alkdev\/operations cannot load its native binary .*\n){2}on\n$/);
  });
});
