// What the benchmarks report, and the table that is made of it.

import { appendFileSync, readFileSync } from "node:fs";
import { aims } from "./aims.mjs";
import { printTable } from "./support.mjs";

/** A measured figure for a row of aims.mjs. Without `npm run bench`, which collects them, it only prints. */
export function report(key, { ours, reference }) {
  if (!Object.hasOwn(aims, key)) throw new Error(`aims.mjs has no row "${key}"`);
  for (const figure of [ours, ...(reference === undefined ? [] : [reference])]) {
    if (!Number.isFinite(figure) || figure <= 0) throw new Error(`${key}: ${figure} is not a measurement`);
  }
  const file = process.env.OPERATIONS_BENCH_RESULTS;
  if (file !== undefined) appendFileSync(file, `${JSON.stringify({ key, ours, reference })}\n`);
}

/** The rows of aims.mjs with what a run measured. */
export function rowsOf(file) {
  const measured = new Map();
  for (const line of readFileSync(file, "utf8").split("\n").filter(Boolean)) {
    const { key, ours, reference } = JSON.parse(line);
    measured.set(key, { ours, reference });
  }
  return Object.entries(aims).map(([key, [work, reference, kind, aim]]) => {
    const found = measured.get(key);
    if (found === undefined) return { key, work, reference, kind, aim };
    const value = kind === "own" ? found.ours : found.ours / found.reference;
    const met = kind === "rate" ? value >= aim : value <= aim;
    return {
      ...{ key, work, reference, kind, aim, value: round(value), met },
      ...{ ours: round(found.ours), theirs: found.reference && round(found.reference) },
    };
  });
}

export function printRows(rows) {
  const cells = rows.map(({ work, reference, kind, aim, value, met, ours, theirs }) => [
    work,
    reference || "-",
    theirs ?? "-",
    ours ?? "-",
    value ?? "-",
    `${kind === "rate" ? ">=" : "<="} ${aim}`,
    met === undefined ? "not measured" : met ? "met" : "missed",
  ]);
  printTable(["work", "reference", "theirs", "ours", "figure", "aim", ""], cells);
}

function round(figure) {
  return Number(figure.toPrecision(3));
}
