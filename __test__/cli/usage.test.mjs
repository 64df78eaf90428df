// What can be said wrong on a command line, and the help.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { runNode } from "../support/run-node.mjs";
import { onlyOn } from "../support/skips.mjs";
import { bin, folderWith, run } from "./support/cli.mjs";

const COMMANDS = [
  ...[
    "serve",
    "inspect",
    "list",
    "describe",
    "call",
    "approvals",
    "search",
    "tools",
    "servers",
    "completion",
  ],
];
const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));

describe("help", { concurrency: true }, () => {
  it("help names all commands and the exit codes", async (t) => {
    const { code, stdout, stderr } = await run(t, ["--help"]);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    for (const command of COMMANDS) assert.match(stdout, new RegExp(`^ {2}${command} `, "m"));
    assert.match(stdout, /2 usage or configuration, 3 not found, 4 denied/);
  });

  for (const command of COMMANDS) {
    it(`help explains ${command}`, async (t) => {
      const { code, stdout } = await run(t, [command, "--help"]);
      assert.equal(code, 0);
      assert.match(stdout, new RegExp(`^Usage: operations ${command} `, "m"));
      assert.match(stdout, /--json/);
      assert.match(stdout, /Examples:/);
      for (const line of stdout.split("\n")) assert.ok(line.length <= 120, line);
    });
  }

  it("help is also the command `help`", async (t) => {
    assert.equal((await run(t, ["help"])).stdout, (await run(t, ["--help"])).stdout);
    assert.equal((await run(t, ["help", "call"])).stdout, (await run(t, ["call", "--help"])).stdout);
  });

  it("help does not load the addon, nor anything else that it does not need", async (t) => {
    const folder = folderWith(t);
    const spy = join(folder, "spy.cjs");
    writeFileSync(
      spy,
      "process.on('exit', () => console.error(JSON.stringify(Object.keys(require.cache))));",
    );
    for (const args of [
      ["--help"],
      ["call", "--help"],
      ["--version"],
      ["completion", "bash"],
      ["nonsense"],
    ]) {
      const { stderr } = await runNode(["--require", spy, bin, ...args]);
      const loaded = JSON.parse(stderr.trimEnd().split("\n").at(-1));
      assert.ok(
        !loaded.some((path) => path.endsWith(".node") || path.includes("node_modules")),
        String(loaded),
      );
      assert.ok(loaded.length <= 12, String(loaded));
    }
  });

  it("--version prints the version", async (t) => {
    assert.equal((await run(t, ["--version"])).stdout, `${version}\n`);
    assert.equal((await run(t, ["list", "-V"])).stdout, `${version}\n`);
  });
});

describe("a wrong command line", { concurrency: true }, () => {
  for (const [args, message] of [
    [[], /^operations: HTTP APIs and MCP servers.*Usage: operations <command>/s],
    [["lst"], /There is no command "lst"\. Did you mean list\?/],
    [["frobnicate"], /There is no command "frobnicate"\. There are serve, inspect/],
    [["list", "--jsn"], /--jsn is not an option of `operations list`\. Did you mean --json\?/],
    [["list", "--frobnicate"], /`operations list --help` lists them/],
    [["list", "-x"], /-x is not an option/],
    [["list", "--config"], /--config needs a value: <file>/],
    [["list", "--json=yes"], /--json takes no value/],
    [["call"], /`operations call` needs more arguments\. Usage: operations call <id> \[json/],
    [["call", "a.b", "{}", "{}"], /`operations call` takes fewer arguments/],
    [["call", "a.b", "--timeout", "soon"], /--timeout must be a whole number of at least 1, not "soon"/],
    [["tools", "--target", "antropic"], /--target must be one of .*Did you mean anthropic\?/],
    [["completion", "csh"], /There are completions for bash, zsh, fish, not for "csh"/],
    [["serve", "a.yaml", "--port", "70000"], /--port must be a whole number from 0 to 65535|Cannot read/],
    [["inspect", "--mcp", "--openapi", "https://x.example"], /--mcp and --openapi exclude each other/],
  ]) {
    it(`a wrong command is refused with help: ${args.join(" ") || "nothing at all"}`, async (t) => {
      const { code, stdout, stderr } = await run(t, args, { cwd: folderWith(t) });
      assert.deepEqual({ code, stdout }, { code: 2, stdout: "" });
      assert.match(stderr, message);
    });
  }

  it("a wrong command is reported in JSON with --json", async (t) => {
    const { code, stderr } = await run(t, ["lst", "--json"]);
    assert.equal(code, 2);
    assert.deepEqual(JSON.parse(stderr), {
      error: { code: "USAGE_ERROR", message: 'There is no command "lst". Did you mean list?' },
    });
  });

  it("a wrong command is refused without quoting the value of an unknown option", async (t) => {
    const { stderr } = await run(t, ["list", "--token=hush-hush"]);
    assert.match(stderr, /--token is not an option/);
    assert.ok(!stderr.includes("hush"));
  });
});

describe("completion", { concurrency: true }, () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    it(`completion has all commands and their options, for ${shell}`, async (t) => {
      const { code, stdout } = await run(t, ["completion", shell]);
      assert.equal(code, 0);
      for (const word of [...COMMANDS, "config", "target", "openai-strict"])
        assert.ok(stdout.includes(word), word);
    });
  }

  it("completion works in bash", { skip: onlyOn("linux", "darwin") }, async (t) => {
    const { stdout: script } = await run(t, ["completion", "bash"]);
    const folder = folderWith(t, { "complete.sh": script });
    const complete = async (...words) => {
      const { execFileSync } = await import("node:child_process");
      const program = `source complete.sh; COMP_WORDS=(operations ${words.map((w) => `'${w}'`).join(" ")}); COMP_CWORD=${words.length}; _operations; echo "\${COMPREPLY[@]}"`;
      return execFileSync("bash", ["-c", program], { cwd: folder, encoding: "utf8" }).trim();
    };
    assert.equal(await complete("se"), "serve search servers");
    assert.equal(await complete("tools", "--target", "open"), "openai openai-strict");
    assert.equal(await complete("list", "--st"), "--strict");
    assert.equal(await complete("serve", "comp"), "complete.sh");
    assert.equal(await complete("completion", "f"), "fish");
  });
});

it("the program ships as the bin of the package", () => {
  const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  assert.equal(fileURLToPath(new URL(`../../${manifest.bin.operations}`, import.meta.url)), bin);
  assert.match(readFileSync(bin, "utf8"), /^#!\/usr\/bin\/env node\n/);
});
