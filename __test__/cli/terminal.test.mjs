// What people see on a terminal, and what strangers cannot make them see.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { until } from "../mcp/support/processes.mjs";
import { stdio } from "../mcp/support/servers.mjs";
import { missing, onlyOn } from "../support/skips.mjs";
import { bin, env, folderWith, run, runJson, shopDocument, startHub } from "./support/cli.mjs";

const ESCAPE = "\u001b";

/** util-linux has a program that gives another one a terminal. */
const noTerminal =
  onlyOn("linux") ||
  (spawnSync("script", ["--version"]).error !== undefined && missing("script (util-linux) is not installed"));

/** Runs a command on a terminal of so many columns. Returns all that the terminal got. */
async function onTerminal(args, { cwd, columns = 80 }) {
  const quoted = [process.execPath, bin, ...args]
    .map((word) => `'${word.replaceAll("'", "'\\''")}'`)
    .join(" ");
  const child = spawn("script", ["-qec", `stty cols ${columns}; ${quoted}`, "/dev/null"], {
    cwd,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (more) => {
    text += more;
  });
  const [code] = await once(child, "close");
  return { code, text };
}

/** A document whose author would like to write on the reader's screen. */
function hostile() {
  const document = shopDocument();
  document.paths = {
    "/x": {
      get: {
        operationId: "harmless",
        summary: `${ESCAPE}[2J${ESCAPE}]0;owned\u0007 red\u202e wolla\r\nsecond line`,
        responses: {},
      },
    },
    "/y": { get: { operationId: "日本語の名前", summary: "絵文字 🎉 と漢字".repeat(10), responses: {} } },
  };
  return document;
}

describe("on a terminal", { skip: noTerminal, concurrency: true }, () => {
  it("tables fit the terminal, also with characters two columns wide", async (t) => {
    const cwd = folderWith(t, {
      "doc.json": hostile(),
      "operations.json": { openapi: { doc: { document: "doc.json" } } },
    });
    const { code, text } = await onTerminal(["list"], { cwd, columns: 50 });
    assert.equal(code, 0);
    const rows = text.split("\r\n").filter((line) => line.startsWith("doc."));
    assert.equal(rows.length, 2);
    for (const row of rows) {
      // Each character of these scripts takes two places.
      const width = [...row].reduce((sum, character) => sum + (/[^\x20-\x7e…\\]/.test(character) ? 2 : 1), 0);
      assert.ok(width <= 50, row);
    }
  });

  it("progress is shown on a terminal, and cleared when the result is there", async (t) => {
    const cwd = folderWith(t, { "operations.json": { mcpServers: { slow: stdio() } } });
    const { code, text } = await onTerminal(["call", "slow.wait", '{"steps":3,"pause":300}'], { cwd });
    assert.equal(code, 0);
    assert.match(text, /Loading slow|Calling slow\.wait|of 3/);
    assert.ok(text.includes(`\r${ESCAPE}[2K`));
    assert.match(text, /done after 3\r\n$/);
    const quiet = await onTerminal(["call", "slow.wait", '{"steps":3,"pause":300}', "--quiet"], { cwd });
    assert.equal(quiet.text, "done after 3\r\n");
  });

  it("control characters in a result are escaped on a terminal", async (t) => {
    const cwd = folderWith(t, { "operations.json": { mcpServers: { s: stdio() } } });
    const { text } = await onTerminal(["call", "s.echo", `{"message":"${"\\u001b"}[31mred"}`], { cwd });
    assert.ok(!text.replaceAll(`\r${ESCAPE}[2K`, "").includes(`${ESCAPE}[31m`), JSON.stringify(text));
  });
});

describe("what strangers wrote", { concurrency: true }, () => {
  const files = () => ({
    "doc.json": hostile(),
    "operations.json": { openapi: { doc: { document: "doc.json" } } },
  });

  it("text of other servers cannot move the cursor, reverse the text, or add a row", async (t) => {
    const { stdout } = await run(t, ["list"], { cwd: folderWith(t, files()) });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be there
    assert.ok(!/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/.test(stdout), JSON.stringify(stdout));
    assert.equal(stdout.trimEnd().split("\n").length, 3);
    assert.match(stdout, /\\x1b\[2J/);
  });

  it("text of other servers is unchanged in JSON", async (t) => {
    const { value } = await runJson(t, ["list", "doc.harmless"], { cwd: folderWith(t, files()) });
    assert.ok(value.operations[0].description.startsWith(`${ESCAPE}[2J`));
  });
});

describe("standard error", { concurrency: true }, () => {
  it("standard error has no secret, whatever server repeats it", async (t) => {
    const secret = 'hush-"hush"-1234';
    const leaky = {
      command: process.execPath,
      args: ["-e", "console.error(process.env.KEY); process.exit(7)"],
      env: { KEY: env("THE_KEY") },
    };
    const echo = { command: env("THE_KEY") };
    const cwd = folderWith(t, {
      "operations.json": {
        mcpServers: { leaky, echo },
        openapi: { doc: { document: env("THE_KEY"), auth: { type: "bearer", token: env("THE_KEY") } } },
        tokens: { [env("THE_KEY")]: { id: "ada", scopes: [] } },
      },
    });
    for (const args of [
      ["list"],
      ["list", "--json"],
      ["list", "--verbose"],
      ["call", "leaky.x"],
      ["call", "doc.x", "--json"],
      ["serve", "--check"],
      ["serve", "--strict", "--port", "0"],
    ]) {
      const { stdout, stderr } = await run(t, args, { cwd, env: { THE_KEY: secret } });
      const all = stdout + stderr;
      for (const text of [secret, "hush"]) assert.ok(!all.includes(text), `${args.join(" ")}: ${all}`);
    }
  });

  it("standard error is empty with --quiet, except for failures, and has the log with --verbose", async (t) => {
    const cwd = folderWith(t, {
      "operations.json": { mcpServers: { s: stdio(), broken: { command: "no-such-program" } } },
    });
    const quiet = await run(t, ["list", "-q"], { cwd });
    assert.deepEqual([quiet.code, quiet.stderr], [0, ""]);
    const failing = await run(t, ["call", "s.nothing", "-q"], { cwd });
    assert.match(failing.stderr, /OPERATION_NOT_FOUND/);
    const verbose = await run(t, ["call", "s.wait", "{}", "--verbose"], { cwd });
    assert.match(verbose.stderr, /^debug .*s\.wait/m);
  });
});

it("a source that comes back is available again", async (t) => {
  const cwd = folderWith(t, {
    "hub.json": { port: 0, openapi: { shop: { document: "shop.json", baseUrl: "http://127.0.0.1:1" } } },
  });
  const { told, output, child, ended } = await startHub(t, ["hub.json"], { cwd });
  assert.equal(told.operations, 0);
  writeFileSync(join(cwd, "shop.json"), JSON.stringify(shopDocument()));
  await until(() => output.stderr.includes("shop: available now, 4 operations"), "it was tried again");
  const { paths } = await (await fetch(`${told.doors.http}/openapi.json`)).json();
  assert.ok(Object.keys(paths).length > 0);
  child.kill();
  await ended;
});
