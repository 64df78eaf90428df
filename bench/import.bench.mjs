// Importing the GitHub document (13 MB, 1,223 operations) next to JSON.parse alone, which is the floor, and to two
// parsers of OpenAPI documents, which give a document whose references are resolved and no operations. Each run is a
// process of its own, interleaved; the memory is what the process holds more afterwards, garbage collected.
//
//   npm run bench -- import [rounds]

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { report as reportFigure } from "./results.mjs";
import { median, printTable } from "./support.mjs";

const path = fileURLToPath(
  new URL("../node_modules/@octokit/openapi/generated/api.github.com.json", import.meta.url),
);
const config = { namespace: "github" };

/** Loads what it needs and gives a function to be timed. */
const contestants = {
  "JSON.parse": async () => {
    const text = readFileSync(path, "utf8");
    return () => JSON.parse(text);
  },
  "FromOpenAPI(text)": async () => {
    const { FromOpenAPI } = await import("@alkdev/operations");
    const text = readFileSync(path, "utf8");
    return () => FromOpenAPI(text, config);
  },
  "FromOpenAPI(object)": async () => {
    const { FromOpenAPI } = await import("@alkdev/operations");
    const document = JSON.parse(readFileSync(path, "utf8"));
    return () => FromOpenAPI(document, config);
  },
  "FromOpenAPIFile, with the reading": async () => {
    const { FromOpenAPIFile } = await import("@alkdev/operations");
    return () => FromOpenAPIFile(path, config);
  },
  "FromOpenAPI(text) + registerAll": async () => {
    const { FromOpenAPI, OperationRegistry } = await import("@alkdev/operations");
    const text = readFileSync(path, "utf8");
    const registry = new OperationRegistry();
    return () => {
      registry.registerAll(FromOpenAPI(text, config));
      return registry;
    };
  },
  "FromOpenAPI(text) + all 2,446 schemas": async () => {
    const { FromOpenAPI } = await import("@alkdev/operations");
    const text = readFileSync(path, "utf8");
    return () => FromOpenAPI(text, config).map((operation) => ({ ...operation }));
  },
  "@apidevtools/swagger-parser dereference": async () => {
    const { default: SwaggerParser } = await import("@apidevtools/swagger-parser");
    const text = readFileSync(path, "utf8");
    return () => SwaggerParser.dereference(JSON.parse(text));
  },
  "@scalar/openapi-parser dereference": async () => {
    const { dereference } = await import("@scalar/openapi-parser");
    const text = readFileSync(path, "utf8");
    return () => dereference(JSON.parse(text));
  },
};

const [mode, name] = process.argv.slice(2);
if (mode === "--one") await measure(name);
else report(Number(mode ?? 9));

/** In a process of its own: one run, and for those that are quick enough four more, when the code is warm. */
async function measure(name) {
  const run = await contestants[name]();
  globalThis.gc();
  const before = process.memoryUsage().rss;
  const times = [];
  let memory;
  let kept;
  for (let round = 0; round < 5; round++) {
    kept = undefined;
    globalThis.gc();
    const start = performance.now();
    kept = await run();
    times.push(performance.now() - start);
    if (round === 0) {
      globalThis.gc();
      memory = process.memoryUsage().rss - before;
    }
    if (times[0] > 3000) break;
  }
  if (kept === undefined) throw new Error("nothing came of it");
  const warm = times.length > 1 ? times.slice(1) : times;
  console.log(JSON.stringify({ first: times[0], warm: median(warm), memory }));
}

function report(rounds) {
  const runs = Object.fromEntries(Object.keys(contestants).map((name) => [name, []]));
  const script = fileURLToPath(import.meta.url);
  for (let round = 0; round < rounds; round++) {
    for (const name of Object.keys(contestants)) {
      const output = execFileSync(process.execPath, ["--expose-gc", script, "--one", name], {
        encoding: "utf8",
      });
      runs[name].push(JSON.parse(output));
    }
  }
  const typical = (name, field) => median(runs[name].map((run) => run[field]));
  const floor = (field) => typical("JSON.parse", field);
  // Cold is the first time in a process: that is when most documents are imported.
  for (const [state, field] of Object.entries({ cold: "first", warm: "warm" })) {
    const reference = floor(field);
    for (const kind of ["object", "text"]) {
      reportFigure(`import.${kind}.${state}`, { ours: typical(`FromOpenAPI(${kind})`, field), reference });
    }
  }
  printTable(
    ["the GitHub document", "first ms", "x JSON.parse", "warm ms", "x JSON.parse", "MiB held"],
    Object.keys(contestants).map((name) => [
      name,
      typical(name, "first").toFixed(0),
      (typical(name, "first") / floor("first")).toFixed(2),
      typical(name, "warm").toFixed(0),
      (typical(name, "warm") / floor("warm")).toFixed(2),
      (typical(name, "memory") / 2 ** 20).toFixed(0),
    ]),
  );
}
