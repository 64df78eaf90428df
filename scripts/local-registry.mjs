// A registry of npm packages on this machine, for rehearsals: Verdaccio, which passes on what it does not have to the registry
// that npm uses.
//
// The addon of this machine is the one that was built last; the packages of all other platforms hold a placeholder, which
// no one loads here.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addonFile, heading, hostTriple, output, root, run } from "./lib.mjs";
import { packInto, triples } from "./pack.mjs";
import { installRuntime, installTool } from "./runtimes.mjs";

const VERDACCIO = "verdaccio@6.10.4";

/** How package managers install a package from a registry. */
export const ADD = {
  npm: ["install", "--no-audit", "--no-fund", "--loglevel=error"],
  bun: ["add", "--no-progress"],
  // A version that was published a moment ago is too new for Deno by default.
  deno: ["add", "--minimum-dependency-age=0"],
};

/** The arguments with which Node publishes the tarballs of a folder, as a release does. */
export const publishCommand = (packed, version) => [
  join(root, "scripts/publish.mjs"),
  packed,
  "--no-provenance",
  ...(version === undefined ? [] : [`--version=${version}`]),
];

/** Hands a registry to `work`, which may use its folder, and removes both afterwards. */
export async function withRegistry(work) {
  const folder = mkdtempSync(join(tmpdir(), "operations-registry-"));
  const { env, npmrc, stop } = await startRegistry(folder);
  const packed = (version = "current") => join(folder, "packed", version);
  const publish = (version) => {
    heading(`publish ${version ?? "this version"} on the local registry`);
    packInto(packed(version), addons(folder), version);
    run(process.execPath, publishCommand(packed(version), version), { env });
  };
  try {
    await work({ folder, env, npmrc, packed, publish });
  } finally {
    stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function addons(folder) {
  const placeholder = join(folder, "placeholder");
  writeFileSync(placeholder, "An addon for another platform would be here.\n");
  const files = Object.fromEntries(triples().map((triple) => [triple, placeholder]));
  return { ...files, [hostTriple()]: join(root, addonFile()) };
}

async function startRegistry(folder) {
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
  const npmrc = `registry=http://${address}/\n//${address}/:_authToken=none\n`;
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
    if (tries === 240 || child.exitCode !== null) throw new Error("Verdaccio did not start");
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
