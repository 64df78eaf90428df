// The packed tarballs, installed into an empty project, as a user installs them.
// OPERATIONS_RUNTIME: another runtime to run the programs with, as a JSON list of command and arguments.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const packed = process.env.OPERATIONS_PACK ?? join(root, "target", "pack-for-tests");
const [runtime, ...runtimeArgs] = JSON.parse(
  process.env.OPERATIONS_RUNTIME ?? JSON.stringify([process.execPath]),
);
const shell = process.platform === "win32";

let project;

before(async () => {
  project = mkdtempSync(join(tmpdir(), "operations-user-"));
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "user", private: true }));
  cpSync(fileURLToPath(new URL("./fixtures", import.meta.url)), project, { recursive: true });
  const example = new URL("../../examples/mcp-server.mjs", import.meta.url);
  cpSync(fileURLToPath(example), join(project, "mcp-server.mjs"));
  const tarballs = readdirSync(packed).filter((file) => file.endsWith(".tgz"));
  assert.equal(tarballs.length, 2, `expected the package and one platform package in ${packed}`);
  await run("npm", ["install", "--no-audit", "--no-fund", ...tarballs.map((file) => join(packed, file))], {
    cwd: project,
    shell,
  });
});

after(() => rmSync(project, { recursive: true, force: true }));

describe(`installed from tarballs, on ${runtime}`, () => {
  for (const program of ["esm.mjs", "cjs.cjs", "both.mjs", "worker.mjs", "adapters.mjs", "hub.mjs"]) {
    it(`${program} runs from the installed package and ends by itself`, { timeout: 60_000 }, async () => {
      const { stdout, stderr } = await run(runtime, [...runtimeArgs, program], {
        cwd: project,
        timeout: 50_000,
      });
      assert.equal(stdout.trim(), `${program.split(".")[0]} ok`);
      assert.equal(stderr, "");
    });
  }

  it("the installed package holds only what a user needs", () => {
    const files = readdirSync(join(project, "node_modules", "@alkdev", "operations"), { recursive: true });
    const top = new Set(files.map((file) => file.split(/[\\/]/)[0]));
    assert.deepEqual(
      [...top].sort(),
      [
        "CHANGELOG.md",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "README.md",
        "dist",
        "facade",
        "index.d.ts",
        "package.json",
      ].sort(),
    );
    assert.ok(!files.some((file) => file.endsWith(".node") || file.includes("test")), "no binary, no tests");
  });

  it("the installed package leads from declarations to their sources", () => {
    const folder = join(project, "node_modules", "@alkdev", "operations");
    const maps = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith(".d.ts.map"));
    assert.ok(maps.length > 50);
    for (const map of maps) {
      const { sources } = JSON.parse(readFileSync(join(folder, map), "utf8"));
      for (const source of sources)
        assert.ok(existsSync(join(folder, dirname(map), source)), `${map}: ${source}`);
    }
  });

  it("the package depends on the platform packages of its own version, all of them, and on nothing else that is optional", () => {
    const manifest = JSON.parse(
      readFileSync(join(project, "node_modules", "@alkdev", "operations", "package.json"), "utf8"),
    );
    const platforms = readdirSync(join(root, "npm")).map((triple) => `@alkdev/operations-${triple}`);
    assert.equal(platforms.length, 8);
    assert.deepEqual(
      manifest.optionalDependencies,
      Object.fromEntries(platforms.map((name) => [name, manifest.version])),
    );
  });

  it("the installed package brings no MCP SDK and no second copy of TypeBox", () => {
    const lock = JSON.parse(readFileSync(join(project, "package-lock.json"), "utf8"));
    const installed = Object.keys(lock.packages).filter((path) => path !== "");
    assert.ok(!installed.some((path) => path.includes("modelcontextprotocol")));
    assert.equal(installed.filter((path) => path.endsWith("@sinclair/typebox")).length, 1);
  });
});

// The command runs on Node, whatever runs the programs.
if (process.env.OPERATIONS_RUNTIME === undefined)
  describe("the command", () => {
    const operations = (...args) =>
      run("npx", ["--no-install", "operations", ...args], { cwd: project, shell });

    it("the installed command has its version and its help", { timeout: 60_000 }, async () => {
      const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
      assert.equal((await operations("--version")).stdout.trim(), version);
      assert.match((await operations("--help")).stdout, /^Commands:$/m);
    });

    it("the installed command works with an MCP server", { timeout: 60_000 }, async () => {
      const mcpServers = { demo: { command: process.execPath, args: ["mcp-server.mjs"] } };
      writeFileSync(join(project, "operations.json"), JSON.stringify({ mcpServers }));
      const { stdout } = await operations("list", "--json");
      const { sources } = JSON.parse(stdout);
      assert.deepEqual(
        sources.map(({ name, error }) => [name, error]),
        [["demo", undefined]],
      );
    });
  });

// What TypeScript says does not depend on the runtime that runs the programs.
if (process.env.OPERATIONS_RUNTIME === undefined)
  describe("strict TypeScript", () => {
    const resolutions = {
      node16: { module: "node16", moduleResolution: "node16" },
      nodenext: { module: "nodenext", moduleResolution: "nodenext" },
      bundler: { module: "preserve", moduleResolution: "bundler" },
    };
    for (const [name, options] of Object.entries(resolutions)) {
      it(`strict TypeScript compiles under ${name}`, { timeout: 120_000 }, async () => {
        const config = join(project, `tsconfig.${name}.json`);
        const compilerOptions = {
          ...options,
          strict: true,
          exactOptionalPropertyTypes: true,
          target: "ES2022",
          lib: ["ES2022", "DOM"],
          types: [],
          noEmit: true,
          skipLibCheck: false,
        };
        writeFileSync(config, JSON.stringify({ compilerOptions, files: ["strict.mts", "strict.cts"] }));
        const tsc =
          process.env.OPERATIONS_TYPESCRIPT ?? join(root, "node_modules", "typescript", "bin", "tsc");
        const { stdout } = await run(process.execPath, [tsc, "-p", config], { cwd: project }).catch(
          (error) => error,
        );
        assert.equal(stdout, "");
      });
    }
  });
