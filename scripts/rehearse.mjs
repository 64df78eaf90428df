// npm run rehearse: a whole release on a local registry, which gets all packages in two versions, by the script that publishes
// them in earnest. Empty projects then install the package by its name on each runtime, first the older version and then the
// newer one, and run a program on each. Name runtimes to use only those: npm run rehearse -- node-20 bun

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensureDirectory, heading, isMain, output, root, run } from "./lib.mjs";
import { ADD, publishCommand, withRegistry } from "./local-registry.mjs";
import { triples } from "./pack.mjs";
import { installRuntime, RUNTIMES } from "./runtimes.mjs";

const NAME = "@alkdev/operations";
const TYPEBOX = "@sinclair/typebox";
const PROGRAMS = ["esm.mjs", "cjs.cjs", "adapters.mjs"];

/** Publishes two versions on a local registry, and installs them with each runtime. Ends the process where that fails. */
export async function rehearse(wanted = Object.keys(RUNTIMES)) {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const versions = [`${version}-rehearsal.1`, `${version}-rehearsal.2`];
  await withRegistry(async (registry) => {
    for (const each of versions) registry.publish(each);
    for (const name of wanted) {
      heading(`install and upgrade with ${name}`);
      installAndUpgrade(name, versions, registry);
    }
    heading("a run that broke off can be repeated");
    const again = output(process.execPath, publishCommand(registry.packed(versions[1]), versions[1]), {
      env: { ...process.env, ...registry.env },
    });
    const skipped = again.match(/is published already/g)?.length ?? 0;
    if (skipped !== triples().length + 1) fail(`published again instead of skipped:\n${again}`);
    console.log(`${skipped} packages were skipped, because they are published already.`);
  });
}

function installAndUpgrade(name, versions, registry) {
  const project = ensureDirectory(join(registry.folder, name));
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "user", private: true }));
  cpSync(join(root, "__test__/package/fixtures"), project, { recursive: true });
  cpSync(join(root, "examples/mcp-server.mjs"), join(project, "mcp-server.mjs"));
  writeFileSync(join(project, ".npmrc"), registry.npmrc);
  const runtime = installRuntime(name);
  const [kind] = name.split("-");
  const [installer, ...args] = kind === "node" ? ["npm", ...ADD.npm] : [runtime[0], ...ADD[kind]];
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

function fail(message) {
  console.error(message);
  process.exit(1);
}

if (isMain(import.meta.url)) {
  const wanted = process.argv.slice(2);
  await rehearse(wanted.length > 0 ? wanted : undefined);
  console.log("\nThe rehearsal went well.");
}
