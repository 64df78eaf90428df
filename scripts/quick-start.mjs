// npm run test:quick-start: the quick start of the README, as a newcomer does it. Each package manager installs what the README
// says, by name, from a registry of our own; the program is the README's, and its server has to answer. Name some to use only
// those: npm run test:quick-start -- pnpm bun

import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensureDirectory, ensureInstalled, heading, isMain, root, run } from "./lib.mjs";
import { ADD, withRegistry } from "./local-registry.mjs";
import { installRuntime, installTool } from "./runtimes.mjs";

const readme = readFileSync(join(root, "README.md"), "utf8");
const [, section] = readme.split("\n## Quick start\n");
/** The packages that the README tells to install. */
const packages = /^npm install (.+)$/m.exec(section)[1].split(" ");
/** The program, on any port that is free. */
const program = /^```ts\n([\s\S]*?)^```$/m.exec(section)[1].replace("port: 8080", "port: 0");

/** How each package manager is had and used. Bun and Deno run TypeScript as it is; Node 20 gets it without its types. */
const MANAGERS = {
  npm: () => ({ add: ["npm", ...ADD.npm] }),
  pnpm: () => ({ add: [installTool("managers/pnpm", "pnpm@10", "pnpm"), "add"] }),
  yarn: () => ({ add: [installTool("managers/yarn", "@yarnpkg/cli-dist@4", "yarn"), "add"] }),
  bun: () => {
    const [bun] = installRuntime("bun");
    return { add: [bun, ...ADD.bun], start: [bun, "main.ts"] };
  },
  deno: () => {
    const start = installRuntime("deno");
    // Names from npm have to say so.
    const named = (name) => `npm:${name}`;
    return { add: [start[0], ...ADD.deno], named, start: [...start, "main.ts"] };
  },
};

export async function quickStart(wanted = Object.keys(MANAGERS)) {
  await withRegistry(async (registry) => {
    registry.publish();
    for (const name of wanted) {
      heading(`the quick start with ${name}`);
      await tryOut(name, join(registry.folder, name), registry);
    }
  });
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
