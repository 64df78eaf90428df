// Every way of building that docs/guides/platforms.md has a recipe for, from the packed tarballs: each builds a program
// (builds/program.mjs) and runs it in a folder without node_modules, where the recipe says that it can. The table at the end has
// sizes without the addon, which is that of the quick build here, and times until the program's first result.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { notReachable, onlyOn } from "../support/skips.mjs";

const execute = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const sources = fileURLToPath(new URL("./builds", import.meta.url));
const packed = process.env.OPERATIONS_PACK ?? join(root, "target", "pack-for-tests");
/** The project and its tools. It stays: the tools are 700 MB. */
const project = join(root, "target", "builds-for-tests");
const out = join(root, "target", "built");
const modules = join(project, "node_modules");
const shell = process.platform === "win32";
const env = {
  ...process.env,
  NEXT_TELEMETRY_DISABLED: "1",
  NO_COLOR: "1",
  OPERATIONS_TEST_SERVER: JSON.stringify({
    command: process.execPath,
    args: [join(root, "examples", "mcp-server.mjs")],
  }),
};
const rows = [];
let addon;

const run = (command, args, options = {}) =>
  execute(command, args, { cwd: project, env, maxBuffer: 64 * 1024 * 1024, ...options });
/** Runs a program of an installed tool. */
const tool = (name, args, options) => run(join(modules, ".bin", name), args, { shell, ...options });
/** Imports a tool. */
const load = (name) => import(pathToFileURL(createRequire(join(project, "package.json")).resolve(name)).href);

before(async () => {
  cpSync(sources, project, { recursive: true });
  const stamp = join(modules, ".stamp");
  const wanted = readFileSync(join(sources, "package.json"), "utf8");
  if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== wanted) {
    await run("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"], {
      shell,
    });
    writeFileSync(stamp, wanted);
  }
  rmSync(join(modules, "@alkdev"), { recursive: true, force: true });
  for (const tarball of readdirSync(packed).filter((file) => file.endsWith(".tgz"))) {
    const [, name] = /^alkdev-(.+)-\d+\.\d+\.\d+.*\.tgz$/.exec(tarball);
    const folder = join(modules, "@alkdev", name);
    mkdirSync(folder, { recursive: true });
    await run("tar", ["-xzf", join(packed, tarball), "-C", folder, "--strip-components=1"]);
    const [file] = readdirSync(folder).filter((each) => each.endsWith(".node"));
    if (file !== undefined) addon = join(folder, file);
  }
  // The quick build is mostly what debuggers need, and every build below would copy it.
  if (process.platform === "linux") await run("strip", ["--strip-debug", addon]).catch(() => {});
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out);
  // Otherwise a program there belongs to this repository, whose name is that of the package.
  writeFileSync(join(out, "package.json"), JSON.stringify({ private: true }));
});

after(() => {
  console.log("\n| way | build | size without the addon | first result |\n|---|---|---|---|");
  for (const { name, built, size, first } of rows) {
    console.log(`| ${name} | ${(built / 1000).toFixed(1)} s | ${(size / 1e6).toFixed(1)} MB | ${first} ms |`);
  }
});

/** Builds, runs what was built, and notes what it took. `build` gets a folder to write to, and returns the command. */
function way(name, build, { skip = false, runIn = out } = {}) {
  it(`${name}: the program is built and runs`, { skip, timeout: 120_000 }, async (t) => {
    const folder = join(out, name.replace(/\W+/g, "-"));
    mkdirSync(folder);
    const started = performance.now();
    const [command, ...args] = (await build(folder, t)) ?? [];
    if (command === undefined) return;
    const built = performance.now() - started;
    const { text, first } = await printed(command, args, runIn);
    assert.equal(text, "Hello Anna\nbuilt ok\n");
    const size = sizeOf(folder) - (sizeOf(folder) > statSync(addon).size ? statSync(addon).size : 0);
    rows.push({ name, built, size, first });
  });
}

/** What a program prints, and after how many milliseconds it begins to. It has to end by itself. */
async function printed(command, args, cwd) {
  const started = performance.now();
  const child = spawn(command, args, { cwd, env });
  let [text, first, problems] = ["", 0, ""];
  child.stdout.on("data", (chunk) => {
    if (text === "") first = Math.round(performance.now() - started);
    text += chunk;
  });
  child.stderr.on("data", (chunk) => {
    problems += chunk;
  });
  const [code] = await once(child, "close");
  assert.equal(code, 0, problems);
  return { text, first };
}

const sizeOf = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, path, name }) => sum + statSync(join(parentPath ?? path, name)).size, 0);

/** A port for a server that takes 0 for its default. */
async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** The platform packages, which some bundlers have to leave alone. */
const PLATFORM_PACKAGES = /^@alkdev\/operations-/;
const node = process.execPath;

describe("built from the packed tarballs", () => {
  way("node_modules", () => [node, "program.mjs"], { runIn: project });
  way("Bun", () => [join(modules, ".bin", "bun"), "program.mjs"], { runIn: project });
  way(
    "Bun with the condition browser",
    () => [join(modules, ".bin", "bun"), "--conditions=browser", "program.mjs"],
    {
      runIn: project,
    },
  );

  for (const [name, flags] of [
    ["bun build --compile", []],
    ["bun build --compile --minify", ["--minify"]],
  ]) {
    way(name, async (folder) => {
      const program = join(folder, "program");
      await tool("bun", ["build", "--compile", ...flags, "program.mjs", "--outfile", program]);
      return [program];
    });
  }

  const deno = ["--no-prompt", "--node-modules-dir=manual"];
  way("Deno", () => [join(modules, ".bin", "deno"), "run", ...deno, "-A", "program.mjs"], { runIn: project });

  way("deno compile", async (folder, t) => {
    const program = join(folder, "program");
    try {
      await tool("deno", [
        "compile",
        "-A",
        "--no-check",
        "--node-modules-dir=manual",
        "-o",
        program,
        "program.mjs",
      ]);
    } catch (error) {
      if (!error.stderr?.includes("dl.deno.land")) throw error;
      return t.skip(notReachable("dl.deno.land, which has the runtime of deno compile"));
    }
    return [program];
  });

  it("Deno without --allow-ffi says that the flag is missing", async () => {
    const args = ["run", ...deno, "--allow-read", "--allow-env", "--allow-sys", "program.mjs"];
    const { stderr } = await tool("deno", args).catch((error) => error);
    assert.match(
      stderr,
      /cannot load its native binary .*\n {2}@alkdev\/operations-[\w-]+: Requires ffi access/,
    );
  });

  const esbuild = (entry, outfile, options) =>
    load("esbuild").then(({ build }) =>
      build({
        absWorkingDir: project,
        entryPoints: [entry],
        outfile,
        bundle: true,
        platform: "node",
        logLevel: "error",
        ...options,
      }),
    );
  // Where the addon stays in node_modules, the bundle has to find it there.
  const inProject = (name) => join(project, `built-${name}`);
  way("esbuild, with the package external", async (folder) => {
    const file = join(inProject("esbuild"), "out.cjs");
    await esbuild("program.mjs", file, { external: ["@alkdev/operations", "@sinclair/typebox"] });
    copyFileSync(file, join(folder, "out.cjs"));
    return [node, file];
  });
  way("esbuild, CommonJS", async (folder) => {
    await esbuild("program.mjs", join(folder, "out.cjs"), { loader: { ".node": "copy" } });
    return [node, join(folder, "out.cjs")];
  });
  const asCommonJs = () => esbuild("program.mjs", "program.cjs", { format: "cjs", packages: "external" });
  way("esbuild, of a program that requires", async (folder) => {
    await asCommonJs();
    await esbuild("program.cjs", join(folder, "out.cjs"), { loader: { ".node": "copy" } });
    return [node, join(folder, "out.cjs")];
  });
  way("bun build --compile, of a program that requires", async (folder) => {
    await asCommonJs();
    await tool("bun", ["build", "--compile", "program.cjs", "--outfile", join(folder, "program")]);
    return [join(folder, "program")];
  });
  way("esbuild, ES module", async (folder) => {
    const js = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';
    const options = { format: "esm", loader: { ".node": "copy" }, banner: { js } };
    await esbuild("program.mjs", join(folder, "out.mjs"), options);
    return [node, join(folder, "out.mjs")];
  });

  way(
    "Node single executable",
    async (folder) => {
      const [bundle, config, blob, program] = ["out.cjs", "sea.json", "blob", "program"].map((each) =>
        join(folder, each),
      );
      await esbuild("sea.mjs", bundle, { external: ["@alkdev/operations-*"] });
      const assets = { "operations.node": addon };
      writeFileSync(
        config,
        JSON.stringify({ main: bundle, output: blob, disableExperimentalSEAWarning: true, assets }),
      );
      await run(node, ["--experimental-sea-config", config]);
      copyFileSync(node, program);
      const fuse = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";
      await tool("postject", [program, "NODE_SEA_BLOB", blob, "--sentinel-fuse", fuse]);
      for (const each of [bundle, config, blob]) rmSync(each);
      return [program];
    },
    // macOS wants a signature, Windows another fuse.
    { skip: onlyOn("linux") },
  );

  way("rollup", async (folder) => {
    const [{ rollup }, resolve, commonjs] = await Promise.all(
      ["rollup", "@rollup/plugin-node-resolve", "@rollup/plugin-commonjs"].map(load),
    );
    const plugins = [
      resolve.default({ exportConditions: ["node"], preferBuiltins: true }),
      commonjs.default(),
    ];
    const input = join(project, "program.mjs");
    const bundle = await rollup({ input, plugins, external: [PLATFORM_PACKAGES], onwarn() {} });
    for (const file of [join(folder, "out.cjs"), join(inProject("rollup"), "out.cjs")]) {
      await bundle.write({ file, format: "cjs", inlineDynamicImports: true });
    }
    return [node, join(inProject("rollup"), "out.cjs")];
  });

  way("Vite SSR with noExternal", async (folder) => {
    const { build } = await load("vite");
    const rollupOptions = { external: [PLATFORM_PACKAGES], output: { entryFileNames: "out.mjs" } };
    const outDir = inProject("vite");
    const options = { ssr: "program.mjs", outDir, emptyOutDir: true, rollupOptions };
    await build({
      root: project,
      configFile: false,
      logLevel: "error",
      build: options,
      ssr: { noExternal: true },
    });
    cpSync(outDir, folder, { recursive: true });
    return [node, join(outDir, "out.mjs")];
  });

  way("webpack", async (folder) => {
    const { default: webpack } = await load("webpack");
    const compiler = webpack({
      mode: "production",
      target: "node",
      context: project,
      entry: "./program.mjs",
      output: { path: folder, filename: "out.cjs" },
      module: { rules: [{ test: /\.node$/, type: "asset/resource" }] },
      ignoreWarnings: [/Can't resolve '(@alkdev\/operations-|zod|@valibot)/],
    });
    const stats = await promisify(compiler.run.bind(compiler))();
    assert.deepEqual(
      [...stats.toJson().errors, ...stats.toJson().warnings].map(({ message }) => message),
      [],
    );
    return [node, join(folder, "out.cjs")];
  });

  way("ncc", async (folder) => {
    await tool("ncc", ["build", "program.mjs", "-o", folder]);
    return [node, join(folder, "index.mjs")];
  });

  way("@vercel/nft", async (folder) => {
    const { nodeFileTrace } = await load("@vercel/nft");
    const { fileList } = await nodeFileTrace([join(project, "program.mjs")], {
      base: project,
      processCwd: project,
    });
    for (const file of fileList) cpSync(join(project, file), join(folder, file));
    return [node, join(folder, "program.mjs")];
  });

  it("code mode runs in one binary: its worker and its engine are inside", { timeout: 120_000 }, async () => {
    cpSync(join(root, "node_modules", "quickjs-wasi"), join(modules, "quickjs-wasi"), { recursive: true });
    const program = join(out, "code-mode");
    await tool("bun", ["build", "--compile", "code.mjs", "--outfile", program]);
    assert.equal((await printed(program, [], out)).text, "42\n");
  });

  it("an agent with MCP servers, tools of the AI SDK and spilled results runs as one binary", {
    timeout: 120_000,
  }, async () => {
    const guarded = createHttpServer((_, response) => response.writeHead(401).end()).listen(0, "127.0.0.1");
    await once(guarded, "listening");
    const mcp = {
      notes: { type: "local", command: [node, join(root, "examples", "mcp-server.mjs")] },
      broken: { type: "local", command: [join(out, "no-such-program")] },
      mail: { type: "remote", url: `http://127.0.0.1:${guarded.address().port}/mcp` },
      off: { type: "local", command: ["never"], enabled: false },
    };
    const [program, config] = [join(out, "agent"), join(out, "agent.json")];
    writeFileSync(config, JSON.stringify({ mcp }));
    try {
      await tool("bun", ["build", "--compile", "agent.mjs", "--outfile", program]);
      const { text } = await printed(program, [config], out);
      const { status, said, spilled } = JSON.parse(text);
      assert.deepEqual(status, { notes: "connected", broken: "failed", mail: "needs_auth" });
      assert.match(said, /Post the letter/);
      assert.match(said, /a line of a file/);
      assert.deepEqual(spilled, { bytes: 170_000, preview: true });
    } finally {
      guarded.close();
    }
  });

  it("Next: a route runs in the standalone server", { timeout: 120_000 }, async () => {
    const started = performance.now();
    await tool("next", ["build"]);
    const built = performance.now() - started;
    const folder = join(out, "next");
    cpSync(join(project, ".next", "standalone"), folder, { recursive: true });
    const asked = performance.now();
    const port = await freePort();
    const settings = { ...env, PORT: String(port), HOSTNAME: "127.0.0.1" };
    const server = spawn(node, [join(folder, "server.js")], {
      env: settings,
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      for await (const chunk of server.stdout) if (String(chunk).includes("Ready")) break;
      const url = `http://127.0.0.1:${port}`;
      assert.deepEqual(await (await fetch(`${url}/run`)).json(), ["Hello Anna", "built ok"]);
      const first = Math.round(performance.now() - asked);
      rows.push({ name: "Next, standalone", built, size: sizeOf(folder) - statSync(addon).size, first });
    } finally {
      server.kill();
    }
  });
});
