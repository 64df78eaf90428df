// The agent hub of examples/: it compiles in strict mode, its tour says what it should, and it serves until it is stopped.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { createMCPClient } from "@alkdev/operations";
import { until } from "./mcp/support/processes.mjs";
import { runNode } from "./support/run-node.mjs";
import { notOn } from "./support/skips.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, "examples", "agent-hub");
const program = join(folder, "build", "main.mjs");

describe("the agent hub", () => {
  before(async () => {
    const { code, stdout } = await runNode(["node_modules/typescript/bin/tsc", "-p", folder], {
      cwd: root,
      timeout: 120_000,
    });
    assert.deepEqual({ code, stdout }, { code: 0, stdout: "" });
  });

  it("the agent hub is strict TypeScript, in 330 lines", () => {
    const { compilerOptions } = JSON.parse(readFileSync(join(folder, "tsconfig.json"), "utf8"));
    assert.equal(compilerOptions.strict, true);
    const files = readdirSync(folder).filter((name) => name.endsWith(".mts"));
    const lines = files.map((name) => readFileSync(join(folder, name), "utf8").trimEnd().split("\n").length);
    const all = lines.reduce((total, count) => total + count, 0);
    assert.ok(all > 100 && all <= 330, `${all} lines`);
  });

  it("the agent hub shows what it does, and ends by itself", async () => {
    const { code, stdout, stderr } = await runNode([program, "--tour"], { cwd: root, timeout: 120_000 });
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    for (const line of [
      /^Left out: MCP server 'broken'/m,
      /operations in tasks, shop, (memory, files|files, memory)$/m,
      /· tasks\.add by ada, ok, source local, [\d.]+ ms/,
      /· tasks\.add by bob, ACCESS_DENIED, source none/,
      /· shop\.getPet by ada, ok, source http/,
      /· memory\.create_entities by ada, ok, source mcp/,
      /· tasks\.list by bob, ok, source local/,
      /tasks\.add, as ada -> task 2 by ada/,
      /tasks\.add, as bob -> Access denied .*tasks:write/,
      /^ada: the model has \d+ tools$/m,
      /shop_getPet \{"petId":"Ada"\} -> error: VALIDATION_ERROR.*\/petId/,
      /shop_getPet \{"petId":1\} -> \{"id":1,"name":"Ada"\}/,
      /tasks_add .* -> \{"id":3,"by":"ada"\}/,
      /memory_create_entities .* -> .*Ada/,
      /^bob: the model has (run|describe|search), (run|describe|search), (run|describe|search)$/m,
      /run -> .*"status":"completed","data":\{"tasks":1,"pets":\["Ada"\]\}/,
      /POST \/api\/tasks\/add, as ada -> 200 task 4/,
      /POST \/api\/tasks\/add, as bob -> 403 Access denied/,
      /tools for bob; tasks_list -> \{"tasks":\[\{"id":3,/,
      /· laptop\.battery by bob, ok/,
      /laptop\.battery, as bob -> \{"percent":80\}/,
      /`npm run hub` starts it/,
    ]) {
      assert.match(stdout, line);
    }
    const [ofAda, ofBob] = [...stdout.matchAll(/the model has (\d+) tools/g)].map(([, count]) =>
      Number(count),
    );
    assert.ok(ofAda > ofBob && ofBob > 0, "a model has the tools of the person that it works for");
  });

  it("the agent hub stays up, at the addresses that it prints, until it is stopped", {
    skip: notOn("win32"),
  }, async () => {
    const child = spawn(process.execPath, [program], { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(child, "exit");
    let stdout = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      stdout += text;
    });
    try {
      await until(() => stdout.includes("Ctrl+C stops it."), "the hub is up");
      const [, http] = /^ +HTTP +(\S+)/m.exec(stdout);
      const [, mcp] = /^ +MCP +(\S+)/m.exec(stdout);
      const [, page] = /^ +Page +(\S+)/m.exec(stdout);
      assert.match(await (await fetch(page)).text(), /<html/i);
      const [, token] = /ada +Authorization: Bearer (\S+)/.exec(stdout);
      const headers = { authorization: `Bearer ${token}` };
      assert.equal((await fetch(`${http}/tasks/list`)).status, 401);
      assert.equal((await fetch(`${http}/tasks/list`, { headers })).status, 200);
      const client = await createMCPClient("hub", { url: mcp, headers });
      assert.ok(client.tools.some(({ name }) => name === "memory_read_graph"));
      await client.close();
    } finally {
      child.kill("SIGINT");
    }
    const [code, signal] = await ended;
    assert.deepEqual({ code, signal }, { code: 0, signal: null });
  });
});
