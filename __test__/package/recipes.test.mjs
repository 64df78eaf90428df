// The recipes of docs/guides/platforms.md that install the package from a registry, with the commands as they stand there. The
// packages of other systems hold a placeholder here, which is not loaded.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { withRegistry } from "../../scripts/local-registry.mjs";
import { installRuntime } from "../../scripts/runtimes.mjs";
import { onlyOn } from "../support/skips.mjs";

const execute = promisify(execFile);
const guide = readFileSync(new URL("../../docs/guides/platforms.md", import.meta.url), "utf8");
const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
const program = readFileSync(fileURLToPath(new URL("./fixtures/esm.mjs", import.meta.url)), "utf8");
const PLACEHOLDER = "An addon for another platform would be here.";

let registry;
let work;
let stop;
let stopped;

before(async () => {
  work = mkdtempSync(join(tmpdir(), "operations-recipes-"));
  await new Promise((started, failed) => {
    stopped = withRegistry((local) => {
      local.publish();
      registry = local;
      started();
      return new Promise((resolve) => {
        stop = resolve;
      });
    });
    stopped.catch(failed);
  });
});

after(async () => {
  stop?.();
  await stopped;
  rmSync(work, { recursive: true, force: true });
});

const run = (command, args, cwd, env = {}) =>
  execute(command, args, {
    cwd,
    env: { ...process.env, ...registry.env, ...env },
    maxBuffer: 64 * 1024 * 1024,
  });

/** A command of the guide, up to its comment. */
function recipe(pattern) {
  const [line] = pattern.exec(guide) ?? assert.fail(`the guide has no ${pattern}`);
  return line.split(" #")[0].split(" ");
}

/** A project with a lock file, which was made on this system. */
async function project(name) {
  const folder = join(work, name);
  mkdirSync(folder);
  const dependencies = { "@alkdev/operations": version, "@sinclair/typebox": "^0.34.0" };
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ private: true, type: "module", dependencies }),
  );
  writeFileSync(join(folder, "main.mjs"), program);
  cpSync(new URL("../../examples/mcp-server.mjs", import.meta.url), join(folder, "mcp-server.mjs"));
  await run("npm", ["install", "--package-lock-only", "--no-audit", "--no-fund"], folder);
  return folder;
}

const installed = (folder) => readdirSync(join(folder, "node_modules", "@alkdev")).sort();
const shouldRun = async (command, args, folder, env) =>
  assert.equal((await run(command, args, folder, env)).stdout.trim(), "esm ok");

describe("recipes that install from a registry", { skip: onlyOn("linux") }, () => {
  for (const [cpu, triple] of [
    ["arm64", "linux-arm64-gnu"],
    ["x64", "linux-x64-gnu"],
  ]) {
    it(`the recipe for AWS Lambda installs the package of Lambda's system: ${cpu}`, async () => {
      const folder = await project(`lambda-${cpu}`);
      const [npm, ...args] = recipe(/^npm ci --omit=dev --os=linux.*$/m);
      assert.ok(args.includes("--cpu=arm64"));
      await run(npm, [...args, `--cpu=${cpu}`], folder);
      assert.deepEqual(installed(folder), ["operations", `operations-${triple}`]);
    });
  }

  it("the steps of the Dockerfile install the package and run a program", async () => {
    const context = await project("docker");
    const image = join(work, "image");
    mkdirSync(image);
    const [, dockerfile] = /```dockerfile\n([\s\S]+?)```/.exec(guide);
    const steps = dockerfile.trim().split("\n");
    assert.deepEqual(steps.splice(0, 2), ["FROM node:22-alpine", "WORKDIR /app"]);
    for (const step of steps) {
      const [what, ...words] = step.split(" ");
      if (what === "COPY") {
        const names = words[0] === "." ? readdirSync(context) : words.slice(0, -1);
        for (const name of names) cpSync(join(context, name), join(image, name));
      } else if (what === "RUN") {
        await run(words[0], words.slice(1), image);
      } else {
        assert.equal(what, "CMD");
        const [command, ...args] = JSON.parse(words.join(" "));
        await shouldRun(command, args, image);
      }
    }
  });

  it("on Alpine, the same npm ci takes the package for musl", async () => {
    const folder = await project("alpine");
    const [, ...args] = recipe(/(?<=^RUN )npm ci.*$/m);
    await run("npm", [...args, "--libc=musl"], folder);
    assert.deepEqual(installed(folder), ["operations", `operations-linux-${process.arch}-musl`]);
  });

  it("with the package of another system installed, Bun compiles for that system, and takes its binary along", async () => {
    const folder = await project("bun");
    await run("npm", ["ci"], folder);
    const [npm, ...args] = recipe(/(?<=`)npm install --force [^`]+(?=`)/);
    await run(npm, args, folder);
    const [, target] = /`(--target=bun-linux-\w+)`/.exec(guide);
    const other = `operations-${args.at(-1).split("/operations-")[1]}`;
    assert.ok(installed(folder).includes(other));
    const [bun] = installRuntime("bun");
    await run(bun, ["build", "--compile", target, "main.mjs", "--outfile", "app"], folder);
    assert.ok(readFileSync(join(folder, "app")).includes(PLACEHOLDER));
  });

  it("Deno runs a program without node_modules, with the flags of the guide", async () => {
    const folder = join(work, "deno");
    mkdirSync(folder);
    const [, ...args] = recipe(/^deno run --allow-ffi.*main\.ts.*$/m);
    const source = `
      import { createRegistry, defineOperation } from "npm:@alkdev/operations@${version}";
      import { Type } from "npm:@sinclair/typebox@^0.34.0";
      const greet = defineOperation({
        namespace: "demo", name: "greet", version: "1.0.0", type: "query", description: "Greets",
        inputSchema: Type.Object({ name: Type.String() }), outputSchema: Type.String(),
        accessControl: { requiredScopes: [] }, handler: ({ name }) => "Hello " + name,
      });
      const { data } = await createRegistry([greet]).execute("demo.greet", { name: "Ada" });
      console.log(data === "Hello Ada" ? "esm ok" : data);
    `;
    writeFileSync(join(folder, "main.ts"), source);
    const [deno] = installRuntime("deno");
    // What was published a moment ago is too new for Deno otherwise.
    const [command, ...rest] = args;
    await shouldRun(deno, [command, "--no-prompt", "--minimum-dependency-age=0", ...rest], folder, {
      DENO_DIR: join(work, "deno-cache"),
    });
    assert.deepEqual(readdirSync(folder), ["main.ts"]);
  });
});
