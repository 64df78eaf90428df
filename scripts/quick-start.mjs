// npm run test:quick-start: the quick start of the README, as a newcomer does it. Each package manager installs what the README
// says, by name, from a registry of our own; the program is the README's, and its server has to answer. Name some to use only
// those: npm run test:quick-start -- pnpm bun

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  addonFile,
  ensureDirectory,
  ensureInstalled,
  heading,
  hostTriple,
  isMain,
  root,
  run,
} from "./lib.mjs";
import { packInto, triples } from "./pack.mjs";
import { startRegistry } from "./rehearse.mjs";
import { installRuntime, installTool } from "./runtimes.mjs";

const readme = readFileSync(join(root, "README.md"), "utf8");
const [, section] = readme.split("\n## Quick start\n");
/** The packages that the README tells to install. */
const packages = /^npm install (.+)$/m.exec(section)[1].split(" ");
/** The program, on any port that is free. */
const program = /^```ts\n([\s\S]*?)^```$/m.exec(section)[1].replace("port: 8080", "port: 0");

/** How each package manager is had and used. Bun and Deno run TypeScript as it is; Node 20 gets it without its types. */
const MANAGERS = {
  npm: () => ({ add: ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"] }),
  pnpm: () => ({ add: [installTool("managers/pnpm", "pnpm@10", "pnpm"), "add"] }),
  yarn: () => ({ add: [installTool("managers/yarn", "@yarnpkg/cli-dist@4", "yarn"), "add"] }),
  bun: () => {
    const [bun] = installRuntime("bun");
    return { add: [bun, "add", "--no-progress"], start: [bun, "main.ts"] };
  },
  deno: () => {
    const start = installRuntime("deno");
    // Names from npm have to say so.
    return {
      add: [start[0], "add", "--minimum-dependency-age=0"],
      named: (name) => `npm:${name}`,
      start: [...start, "main.ts"],
    };
  },
};

export async function quickStart(wanted = Object.keys(MANAGERS)) {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const folder = mkdtempSync(join(tmpdir(), "operations-quick-start-"));
  const registry = await startRegistry(folder);
  try {
    publish(version, folder, registry);
    for (const name of wanted) {
      heading(`the quick start with ${name}`);
      await tryOut(name, join(folder, name), registry);
    }
  } finally {
    registry.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function publish(version, folder, registry) {
  heading(`publish ${version} on the local registry`);
  const placeholder = join(folder, "placeholder");
  writeFileSync(placeholder, "An addon for another platform would be here.\n");
  const addons = Object.fromEntries(triples().map((triple) => [triple, placeholder]));
  addons[hostTriple()] = join(root, addonFile());
  packInto(join(folder, "packed"), addons);
  const args = [join(root, "scripts/publish.mjs"), join(folder, "packed"), "--no-provenance"];
  run(process.execPath, args, { env: registry.env });
}

async function tryOut(name, project, registry) {
  const { add, named = (each) => each, start = [process.execPath, "main.mjs"] } = MANAGERS[name]();
  ensureDirectory(project);
  writeFileSync(
    join(project, "package.json"),
    JSON.stringify({ name: "user", private: true, type: "module" }),
  );
  writeFileSync(join(project, ".npmrc"), registry.npmrc);
  const { npm_config_registry: address } = registry.env;
  const hosts = "unsafeHttpWhitelist: [127.0.0.1]\nnodeLinker: node-modules\nenableTelemetry: false\n";
  writeFileSync(
    join(project, ".yarnrc.yml"),
    `npmRegistryServer: ${address}\n${hosts}npmMinimalAgeGate: 0\n`,
  );
  // Yarn looks for a project further up; this says that there is none.
  writeFileSync(join(project, "yarn.lock"), "");
  const [installer, ...args] = add;
  run(installer, [...args, ...packages.map(named)], { cwd: project, env: registry.env });

  const { default: ts } = await import("typescript");
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
  writeFileSync(join(project, "main.ts"), program);
  writeFileSync(join(project, "main.mjs"), ts.transpileModule(program, { compilerOptions }).outputText);
  const [command, ...rest] = start;
  const child = spawn(command, rest, { cwd: project, stdio: ["ignore", "pipe", "inherit"] });
  try {
    const url = await addressOf(child);
    const response = await fetch(`${url}/api/demo/greet?name=Ada`);
    const { greeting } = await response.json();
    if (greeting !== "Hello, Ada") throw new Error(`${name}: the server answered ${greeting}`);
    const page = await fetch(url);
    if (!page.ok) throw new Error(`${name}: the explorer answered ${page.status}`);
    console.log(`${name}: installed ${packages.join(" and ")}, and the program answers`);
  } finally {
    child.kill();
  }
}

/** Where the program says that it listens. */
function addressOf(child) {
  return new Promise((resolve, reject) => {
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      printed += text;
      const found = /^Hello, Ada\nOpen (\S+)$/m.exec(printed);
      if (found) resolve(found[1]);
    });
    child.once("exit", (code) => reject(new Error(`the program ended with ${code} after\n${printed}`)));
  });
}

if (isMain(import.meta.url)) {
  ensureInstalled();
  const wanted = process.argv.slice(2);
  await quickStart(wanted.length > 0 ? wanted : undefined);
  console.log("\nThe quick start works.");
}
