// npm run rehearse: a whole release on a registry of our own. Verdaccio, on this machine, gets all packages in two versions, by
// the script that publishes them in earnest. Empty projects then install the package by its name on each runtime, first the
// older version and then the newer one, and run a program on either.
//
// The addon of this machine is the one that was built last; the packages of all other platforms hold a placeholder, which
// nobody loads here. Name runtimes to use only those: npm run rehearse -- node-20 bun

import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addonFile, ensureDirectory, heading, hostTriple, isMain, output, root, run } from "./lib.mjs";
import { packInto, triples } from "./pack.mjs";
import { installRuntime, installTool, RUNTIMES } from "./runtimes.mjs";

const VERDACCIO = "verdaccio@6.10.4";
const NAME = "@alkdev/operations";
const TYPEBOX = "@sinclair/typebox";
const PROGRAMS = ["esm.mjs", "cjs.cjs", "adapters.mjs"];

/** How each package manager installs a package from a registry. */
const INSTALL = {
  node: ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"],
  bun: ["add", "--no-progress"],
  // A version that was published a moment ago is too new for Deno by default.
  deno: ["add", "--minimum-dependency-age=0"],
};

/** Publishes two versions on a local registry, and installs them with each runtime. Ends the process where that fails. */
export async function rehearse(wanted = Object.keys(RUNTIMES)) {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const versions = [`${version}-rehearsal.1`, `${version}-rehearsal.2`];
  const folder = mkdtempSync(join(tmpdir(), "operations-rehearsal-"));
  const registry = await startRegistry(folder);
  try {
    const placeholder = join(folder, "placeholder");
    writeFileSync(placeholder, "An addon for another platform would be here.\n");
    const addons = Object.fromEntries(triples().map((triple) => [triple, placeholder]));
    addons[hostTriple()] = join(root, addonFile());
    for (const each of versions) {
      heading(`publish ${each}`);
      const packed = join(root, "target", "rehearsal", each);
      packInto(packed, addons, each);
      run(
        process.execPath,
        [join(root, "scripts/publish.mjs"), packed, "--no-provenance", `--version=${each}`],
        { env: registry.env },
      );
    }
    for (const name of wanted) {
      heading(`install and upgrade with ${name}`);
      installAndUpgrade(name, versions, folder, registry);
    }
    heading("a run that broke off can be repeated");
    const again = output(
      process.execPath,
      [
        join(root, "scripts/publish.mjs"),
        join(root, "target/rehearsal", versions[1]),
        "--no-provenance",
        `--version=${versions[1]}`,
      ],
      { env: { ...process.env, ...registry.env } },
    );
    const skipped = again.match(/is published already/g)?.length ?? 0;
    if (skipped !== triples().length + 1) fail(`published again instead of skipped:\n${again}`);
    console.log(`${skipped} packages were skipped, because they are published already.`);
  } finally {
    registry.stop();
    rmSync(folder, { recursive: true, force: true });
    rmSync(join(root, "target", "rehearsal"), { recursive: true, force: true });
  }
}

function installAndUpgrade(name, versions, folder, registry) {
  const project = ensureDirectory(join(folder, name));
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "user", private: true }));
  cpSync(join(root, "__test__/package/fixtures"), project, { recursive: true });
  cpSync(join(root, "examples/mcp-server.mjs"), join(project, "mcp-server.mjs"));
  writeFileSync(join(project, ".npmrc"), registry.npmrc);
  const runtime = installRuntime(name);
  const [kind] = name.split("-");
  const [installer, ...args] = kind === "node" ? INSTALL.node : [runtime[0], ...INSTALL[kind]];
  for (const version of versions) {
    // As the README says, with TypeBox, which the programs use. Deno takes names from several registries.
    const specs = [`${NAME}@${version}`, TYPEBOX].map((each) => (kind === "deno" ? `npm:${each}` : each));
    run(installer, [...args, ...specs], { cwd: project, env: registry.env });
    const installed = join(project, "node_modules", NAME, "package.json");
    const found = existsSync(installed) ? JSON.parse(readFileSync(installed, "utf8")).version : "nothing";
    if (found !== version) fail(`${name}: wanted ${version}, and got ${found}`);
    for (const program of PROGRAMS) {
      const [command, ...first] = runtime;
      const { stdout, stderr } = spawnSync(command, [...first, program], {
        cwd: project,
        encoding: "utf8",
        timeout: 60_000,
      });
      if (stdout.trim() !== `${program.split(".")[0]} ok`) {
        fail(`${name}, ${version}: ${program} did not end well\n${stdout}${stderr}`);
      }
    }
    console.log(`${name}: ${version} installed by its name, ${PROGRAMS.join(", ")} ran`);
  }
}

/** Verdaccio on a free port of this machine, which passes on what it does not have to the registry that npm uses. */
export async function startRegistry(folder) {
  heading(`start ${VERDACCIO.split("@")[0]}`);
  // It names its dependency by a tag, which registries that mirror npm's need not have.
  const binary = installTool("verdaccio", VERDACCIO, "verdaccio", { "node-fetch": "^2.7.0" });
  // It needs a newer Node than we do.
  const [node] = installRuntime("node-22");
  const port = await freePort();
  const upstream = output("npm", ["config", "get", "registry", "--loglevel=error"]).trim();
  const config = join(folder, "verdaccio.yaml");
  writeFileSync(
    config,
    `storage: ${JSON.stringify(join(folder, "storage"))}
uplinks: { npm: { url: ${JSON.stringify(upstream)}, max_fails: 100, timeout: 60s } }
packages:
  "@alkdev/*": { access: $all, publish: $all }
  "**": { access: $all, proxy: npm }
max_body_size: 200mb
log: { type: stdout, level: warn }
`,
  );
  const address = `127.0.0.1:${port}`;
  // npm publishes nothing without a token, even where the registry asks for none.
  const npmrc = `registry=http://${address}/\n//${address}/:_authToken=nobody\n`;
  const userconfig = join(folder, "npmrc");
  writeFileSync(userconfig, npmrc);
  const child = spawn(node, [binary, "--config", config, "--listen", `http://${address}`], {
    stdio: ["ignore", "inherit", "inherit"],
    shell: process.platform === "win32",
  });
  const stop = () => child.kill();
  process.once("exit", stop);
  for (let tries = 0; ; tries += 1) {
    const ready = await fetch(`http://${address}/-/ping`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ready) break;
    if (tries === 240 || child.exitCode !== null) fail("Verdaccio did not start");
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  const env = { npm_config_userconfig: userconfig, npm_config_registry: `http://${address}/` };
  return { env: { ...env, NPM_CONFIG_REGISTRY: `http://${address}/` }, npmrc, stop };
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

if (isMain(import.meta.url)) {
  const wanted = process.argv.slice(2);
  await rehearse(wanted.length > 0 ? wanted : undefined);
  console.log("\nThe rehearsal went well.");
}
