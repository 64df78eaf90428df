// The container of docs/guides/deploying.md, built without Docker: each instruction is done in a folder, and then the program is
// started from there.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { folderWith, run, shopDocument } from "./cli/support/cli.mjs";
import { defer } from "./mcp/support/defer.mjs";
import { temporaryFolder } from "./mcp/support/processes.mjs";
import { notOn } from "./support/skips.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const page = readFileSync(join(root, "docs/guides/deploying.md"), "utf8");
const block = (language) => new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, "m").exec(page)[1];
/** Of the page, on a free port. */
const hub = block("yaml").replace("port: 8080", "port: 0");

/** What `npm ci` puts there: this package, built. */
function install(folder) {
  const scope = join(folder, "node_modules", "@alkdev");
  mkdirSync(scope, { recursive: true });
  symlinkSync(root, join(scope, "operations"), "dir");
}

/** Does what a Dockerfile says. An instruction that is not known fails. */
function build(dockerfile, context, stagesIn) {
  const stages = new Map();
  const image = { env: {} };
  for (const line of dockerfile.split("\n").filter((text) => text !== "")) {
    const [, word, rest] = /^([A-Z]+) (.*)$/.exec(line);
    const inside = (path) => join(image.root, path.startsWith("/") ? path : join(image.folder, path));
    if (word === "FROM") {
      const [base, , name = "last"] = rest.split(" ");
      assert.match(base, /^node:\d+-slim$/);
      Object.assign(image, { root: join(stagesIn, name), folder: "/", user: "root" });
      stages.set(name, image.root);
      mkdirSync(image.root);
    } else if (word === "WORKDIR") {
      image.folder = rest;
      mkdirSync(inside("."), { recursive: true });
    } else if (word === "COPY") {
      const [, stage, paths] = /^(?:--from=(\S+) )?(.*)$/.exec(rest);
      const names = paths.split(" ");
      const target = inside(names.pop());
      for (const name of names) {
        const from = join(stage === undefined ? context : stages.get(stage), name);
        assert.ok(existsSync(from), `${line}: ${name} is not there`);
        const to = names.length > 1 || paths.endsWith("./") ? join(target, name) : target;
        mkdirSync(dirname(to), { recursive: true });
        cpSync(from, to, { recursive: true, verbatimSymlinks: true });
      }
    } else if (word === "RUN") {
      assert.equal(rest, "npm ci --omit=dev");
      assert.ok(existsSync(inside("package.json")) && existsSync(inside("package-lock.json")));
      install(inside("."));
    } else if (word === "ENV") {
      const [name, value] = rest.split("=");
      image.env[name] = value;
    } else if (word === "HEALTHCHECK") image.health = JSON.parse(rest.replace(/^CMD /, ""));
    else if (word === "CMD") image.command = JSON.parse(rest);
    else if (word === "USER") image.user = rest;
    else assert.equal(word, "EXPOSE");
  }
  return { ...image, folder: join(image.root, image.folder) };
}

describe("the deployment guide", () => {
  it("its Dockerfile makes an image that starts as a plain user, is healthy, and ends with SIGTERM", {
    skip: notOn("win32"),
  }, async (t) => {
    const context = folderWith(t, {
      "package.json": block("json"),
      "package-lock.json": "{}",
      "hub.yaml": hub,
      "pets.json": JSON.stringify(shopDocument()),
    });
    writeFileSync(join(context, ".env"), "PETS_TOKEN=secret");
    const image = build(block("dockerfile"), context, temporaryFolder(t));
    assert.equal(image.user, "node");
    assert.ok(!existsSync(join(image.folder, ".env")), "only what is named is copied");
    const [, ...args] = image.command;
    const child = spawn(process.execPath, [...args, "--json"], {
      cwd: image.folder,
      env: { ...process.env, ...image.env, PETS_TOKEN: "secret-of-pets" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let errors = "";
    child.stderr.setEncoding("utf8").on("data", (text) => {
      errors += text;
    });
    const ended = once(child, "close");
    defer(t, async () => {
      child.kill("SIGKILL");
      await ended;
    });
    const [line] = await Promise.race([
      once(child.stdout.setEncoding("utf8"), "data"),
      ended.then(() => Promise.reject(new Error(errors))),
    ]);
    const { port } = new URL(JSON.parse(line).url);
    const code = image.health.at(-1).replace("8080", port);
    const check = spawn(process.execPath, ["-e", code], { stdio: "inherit" });
    assert.deepEqual(await once(check, "close"), [0, null]);
    const statusAs = async (host) => {
      const [response] = await once(get({ port, path: "/api/openapi.json", headers: { host } }), "response");
      response.resume();
      return response.statusCode;
    };
    assert.equal(await statusAs("hub.example.com"), 401);
    assert.equal(await statusAs("other.example.com"), 403);
    child.kill("SIGTERM");
    assert.deepEqual(await ended, [0, null], errors);
    assert.ok(!errors.includes("secret-of-pets"));
  });

  it("its configuration is right, and its unit starts the same program as its image", async (t) => {
    const cwd = folderWith(t, { "hub.yaml": hub, "pets.json": JSON.stringify(shopDocument()) });
    const { code, stderr } = await run(t, ["serve", "hub.yaml", "--check"], {
      cwd,
      env: { PETS_TOKEN: "x" },
    });
    assert.deepEqual([code, stderr], [0, ""]);
    const [, ...command] = JSON.parse(/^CMD (.*)$/m.exec(block("dockerfile"))[1]);
    assert.ok(block("ini").includes(`ExecStart=/usr/bin/node ${command.join(" ")}\n`));
    assert.ok(existsSync(join(root, command[0].replace("node_modules/@alkdev/operations/", ""))));
  });
});
