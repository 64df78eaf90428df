// A catalogue over 10,000 operations: how long it takes to index them, to search, and to write signatures. The operations
// are those of real documents, several times under different namespaces.
//
//   npm run bench -- tools [rounds]

import { FromOpenAPI, OperationRegistry } from "@alkdev/operations";
import { catalogue } from "@alkdev/operations/tools";
import { realDocuments } from "../__test__/openapi/support/documents.mjs";
import { QUESTIONS } from "../__test__/tools/support/questions.mjs";
import { report } from "./results.mjs";
import { median, printTable } from "./support.mjs";

const ROUNDS = Number(process.argv[2] ?? 7);
const WANTED = 10_000;
const NAMES = [
  "@octokit/openapi api.github.com.json",
  "kubernetes-client",
  "@gitbook/api openapi.json",
  "@netlify/open-api",
  "@figma/rest-api-spec",
];

function operations() {
  const texts = NAMES.map((name) => realDocuments.find((each) => each.name === name).text());
  const all = [];
  for (let round = 0; all.length < WANTED; round++) {
    for (const [index, text] of texts.entries()) {
      all.push(...FromOpenAPI(text, { namespace: `d${index}r${round}`, baseUrl: "http://localhost" }));
    }
  }
  return all.slice(0, WANTED);
}

const registry = new OperationRegistry();
registry.registerAll(operations());

const timed = (run) => {
  const start = performance.now();
  run();
  return performance.now() - start;
};
const questions = QUESTIONS.map(({ question }) => question);
const rows = [];
const row = (what, times, aim) => {
  const sorted = times.toSorted((one, other) => one - other);
  const worst = sorted[Math.floor(sorted.length * 0.99)];
  rows.push([what, times.length, median(times).toFixed(3), worst.toFixed(3), aim]);
};

const indexing = [];
let known;
for (let round = 0; round < ROUNDS; round++) {
  known = catalogue(registry);
  globalThis.gc?.();
  indexing.push(timed(() => known.search("x")));
}
row(`index ${registry.list().length} operations`, indexing, "300");
report("tools.index", { ours: median(indexing) });

const searching = [];
for (let round = 0; round < ROUNDS; round++) {
  for (const question of questions) searching.push(timed(() => known.search(question, { limit: 10 })));
}
row("search, limit 10", searching, "1");
report("tools.search", { ours: median(searching) });

const poor = catalogue(registry, { identity: { id: "p", scopes: [] } });
poor.search("x");
row(
  "search, filtered by access",
  questions.map((question) => timed(() => poor.search(question))),
  "1",
);

for (const budget of [1_000, 4_000]) {
  const writing = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (const query of questions.slice(0, 40)) {
      writing.push(timed(() => known.signatures({ budget, query })));
    }
  }
  row(`signatures, ${budget} tokens, with a query`, writing, "5");
  if (budget === 4_000) report("tools.signatures", { ours: median(writing) });
}

printTable(["a catalogue of 10,000 operations", "times", "median ms", "99% ms", "aim"], rows);
