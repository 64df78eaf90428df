// npm run conformance: the protocol's own suite against our MCP client and our MCP server, scenario by scenario.
//
//   npm run conformance                          both sides, both sets of requirements
//   npm run conformance -- --side server         one side
//   npm run conformance -- --set 2026-07-28      one set
//   npm run conformance -- --only auth/          scenarios whose name contains this
//   npm run conformance -- --reference           the official SDK too, for comparison
//   npm run conformance -- --table               both, and writes the results into the guides
//   npm run conformance -- --verbose             what the suite and the client print
//
// The suite's own summary is kind: a scenario without checks counts as passed, and so does one whose client failed. So
// each scenario runs by its name, and passes only if it has checks, none of them failed or warns, and the client
// ended as it should.

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { CASES, inspect } from "../conformance/inspector.mjs";
import { addonFile, heading, root, run } from "./lib.mjs";

const SETS = ["2025-11-25", "2026-07-28"];
const AT_ONCE = 4;
const PATIENCE = 60_000;
const folder = join(root, "conformance");
const installed = join(folder, "suite");

/** What must run, and how it is started: clients for each scenario, servers once for all of a set. */
const SIDES = {
  client: {
    heading: "Client scenarios",
    command: { ours: "client.mjs", reference: "suite/reference-client.mjs" },
  },
  server: {
    heading: "Server scenarios",
    command: { ours: "server.mjs", reference: "suite/reference-server.mjs" },
  },
};

const { values: options } = parseArgs({
  options: {
    side: { type: "string", multiple: true, default: Object.keys(SIDES) },
    set: { type: "string", multiple: true, default: SETS },
    only: { type: "string", default: "" },
    reference: { type: "boolean", default: false },
    table: { type: "boolean", default: false },
    verbose: { type: "boolean", default: false },
  },
});

if (!existsSync(join(root, addonFile()))) run(process.execPath, [join(root, "scripts/build.mjs")]);
install();
const node = nodeForSuite();
const suite = join(installed, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
const expected = JSON.parse(readFileSync(join(folder, "expected-failures.json"), "utf8"));
const who = options.reference || options.table ? ["ours", "reference"] : ["ours"];
/** The headings of the table. */
const COLUMNS = { ours: "ours", reference: "official SDK" };
const rows = [];
if (options.side.includes("server")) rows.push(...(await runInspector()));
for (const side of options.side) for (const set of options.set) rows.push(...(await runSet(set, side)));
process.exitCode = report(rows) ? 0 : 1;

/** Installs the suite, unless what the lock file names is there. */
function install() {
  const stamp = join(installed, "node_modules", ".operations-stamp");
  const wanted = createHash("sha256")
    .update(readFileSync(join(installed, "package-lock.json")))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  heading("install the conformance suite");
  run("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: installed });
  writeFileSync(stamp, wanted);
}

/** The suite needs Node 22; npm brings it where this one is older. */
function nodeForSuite() {
  if (Number(process.versions.node.split(".")[0]) >= 22) return process.execPath;
  const name = process.platform === "win32" ? "node.exe" : "node";
  return join(installed, "node_modules/node/bin", name);
}

/** The scenarios of a set: what it requires, and what it merely runs. */
async function scenariosOf(set, side) {
  const { stdout } = await start([suite, "list", "--requirements", set]);
  const [required, optional = ""] = stdout.split("Run and reported, but never scored:");
  const [, listed = ""] = required.split(SIDES[side].heading);
  const names = (text, pattern) => Array.from(text.matchAll(pattern), ([, name]) => name);
  return [
    ...names(listed.split("\n\n")[0], /^ {2}- (\S+)$/gm).map((name) => ({ name, required: true })),
    ...names(optional, new RegExp(`^ {4}- (\\S+) \\[${side}\\]$`, "gm")).map((name) => ({
      name,
      required: false,
    })),
  ];
}

async function runSet(set, side) {
  const scenarios = (await scenariosOf(set, side)).filter(({ name }) => name.includes(options.only));
  heading(`${side}, ${set}: ${scenarios.length} scenarios`);
  const rows = scenarios.map((scenario) => ({ set, side, ...scenario }));
  const servers = side === "server" ? await startServers(SIDES[side].command) : undefined;
  const worker = async (waiting) => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { row, whose } = next;
      const target =
        servers === undefined ? ["--command", `node ${SIDES[side].command[whose]}`] : servers[whose].target;
      row[whose] = await runScenario(row, target);
      if (whose === "ours") print(row);
    }
  };
  if (servers === undefined) {
    const waiting = rows.flatMap((row) => who.map((whose) => ({ row, whose })));
    await Promise.all(Array.from({ length: AT_ONCE }, () => worker(waiting)));
  } else {
    // A server has lists that some scenarios change and others look at: one after the other.
    await Promise.all(who.map((whose) => worker(rows.map((row) => ({ row, whose })))));
  }
  for (const { stop } of Object.values(servers ?? {})) await stop();
  return rows;
}

/** The Inspector's command line against our server, over standard streams. */
async function runInspector() {
  const cases = Object.entries(CASES).filter(([name]) => name.includes(options.only));
  if (cases.length > 0) heading(`Inspector, standard streams: ${cases.length} cases`);
  const launcher = join(installed, "node_modules/@modelcontextprotocol/inspector-cli/build/index.js");
  const rows = [];
  for (const [name, each] of cases) {
    const row = { set: "standard streams", side: "inspector", name, required: true };
    row.ours = await inspect(each, launcher, start);
    print(row);
    rows.push(row);
  }
  return rows;
}

/** Starts the servers. Each writes its address first, and ends with its standard input. */
async function startServers(programs) {
  const started = who.map(async (whose) => {
    const child = spawn(process.execPath, [programs[whose]], {
      cwd: folder,
      stdio: ["pipe", "pipe", "inherit"],
    });
    const ended = once(child, "close");
    const [line] = await Promise.race([
      once(createInterface(child.stdout), "line"),
      ended.then(([code]) => Promise.reject(new Error(`${programs[whose]} ended with ${code}`))),
    ]);
    const stop = async () => {
      child.stdin.end();
      await ended;
    };
    return [whose, { target: ["--url", line], stop }];
  });
  return Object.fromEntries(await Promise.all(started));
}

/** Runs one scenario. Resolves with why it failed, or with nothing. */
async function runScenario({ set, side, name }, target) {
  const out = mkdtempSync(join(tmpdir(), "conformance-"));
  try {
    const args = [...target, "--scenario", name, "--spec-version", set, "--force"];
    const ended = await start([suite, side, ...args, "--timeout", String(PATIENCE), "--verbose", "-o", out]);
    if (options.verbose) console.log(ended.stdout, ended.stderr);
    const checks = readdirSync(out, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith("checks.json"))
      .flatMap((file) => JSON.parse(readFileSync(join(out, file), "utf8")));
    return verdict(checks, ended);
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

function verdict(checks, { stdout, stderr }) {
  const counted = checks.filter(({ status }) => status !== "INFO" && status !== "SKIPPED");
  const bad = counted.filter(({ status }) => status !== "SUCCESS");
  if (bad.length > 0)
    return bad.map(({ id, errorMessage }) => `${id}: ${errorMessage ?? "not met"}`).join("; ");
  if (counted.length === 0) return "no checks were made";
  const client = /client.*(timed out|exit(ed)? (with )?code:? [^0\s]\S*)/i.exec(`${stdout}\n${stderr}`);
  return client === null ? undefined : client[0];
}

function start(args) {
  return new Promise((resolve) => {
    const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` };
    const child = spawn(node, args, { cwd: folder, env });
    const ended = { stdout: "", stderr: "" };
    for (const stream of ["stdout", "stderr"]) {
      child[stream].setEncoding("utf8").on("data", (text) => {
        ended[stream] += text;
      });
    }
    child.on("close", (code) => resolve({ ...ended, code }));
  });
}

/** Into the guides, where they have a place for it: of each side its own lines. */
function writeTable([headings, rule, ...lines]) {
  for (const [side, guide] of Object.entries({ client: "mcp", server: "serving-mcp" })) {
    const own = lines.filter((line) => line.startsWith(`| ${side} |`));
    if (own.length === 0) continue;
    const path = join(root, "docs/guides", `${guide}.md`);
    const place = new RegExp(`(<!-- conformance: ${side} -->\n)[^]*?(<!-- /conformance -->)`);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replace(place, `$1\n${[headings, rule, ...own].join("\n")}\n\n$2`));
  }
}

function isExpected({ side, set, name }) {
  return expected[side]?.[set]?.includes(name) ?? false;
}

function print(row) {
  const mark = row.ours === undefined ? "\x1b[32m✔\x1b[0m" : "\x1b[31m✖\x1b[0m";
  console.log(`${mark} ${row.name}${row.ours === undefined ? "" : `: ${row.ours.slice(0, 400)}`}`);
}

/** Prints the table. Whether all is as expected. */
function report(rows) {
  heading("results");
  const cell = (passed, all) => `${passed} of ${all}`;
  const lines = [
    `| side | set | scenarios | ${who.map((whose) => COLUMNS[whose]).join(" | ")} |`,
    `|---|---|---|${"---|".repeat(who.length)}`,
  ];
  for (const side of options.side) {
    for (const set of options.set) {
      for (const required of [true, false]) {
        const some = rows.filter((row) => row.side === side && row.set === set && row.required === required);
        const counts = who.map((whose) =>
          cell(some.filter((row) => row[whose] === undefined).length, some.length),
        );
        lines.push(`| ${side} | ${set} | ${required ? "required" : "not scored"} | ${counts.join(" | ")} |`);
      }
    }
  }
  console.log(lines.join("\n"));
  if (options.table) writeTable(lines);
  if (who.includes("reference")) {
    const failed = rows.filter((row) => row.reference !== undefined);
    for (const { side, set, name, reference } of failed)
      console.log(`reference: ${side} ${set} ${name}: ${reference.slice(0, 200)}`);
  }
  const unexpected = rows.filter((row) => row.ours !== undefined && !isExpected(row));
  const stale = rows.filter((row) => row.ours === undefined && isExpected(row));
  const forbidden = rows.filter((row) => row.required && isExpected(row));
  for (const { side, set, name, ours } of unexpected)
    console.error(`unexpected failure: ${side} ${set} ${name}: ${ours}`);
  for (const { side, set, name } of stale)
    console.error(`expected to fail, and passes: ${side} ${set} ${name}`);
  for (const { side, set, name } of forbidden)
    console.error(`required, so it must not be expected to fail: ${side} ${set} ${name}`);
  return unexpected.length + stale.length + forbidden.length === 0;
}
