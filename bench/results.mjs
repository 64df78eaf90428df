// What the benchmarks report, and the table that is made of it.

import { appendFileSync, readFileSync } from "node:fs";
import { aims } from "./aims.mjs";
import { printTable } from "./support.mjs";

/**
 * What was measured for a row of aims.mjs: `usual` with its `reference`, where there is one, and how far the ratio went in single rounds (`low`, `high`);
 * `cases` where the work was varied. Without `npm run bench`, which collects them, nothing is kept.
 */
export function report(key, usual, cases = [usual]) {
  if (!Object.hasOwn(aims, key)) throw new Error(`aims.mjs has no row "${key}"`);
  for (const { ours, reference = ours } of cases) {
    for (const figure of [ours, reference]) {
      if (!Number.isFinite(figure) || figure <= 0) throw new Error(`${key}: ${figure} is not a measurement`);
    }
  }
  const file = process.env.OPERATIONS_BENCH_RESULTS;
  if (file !== undefined) appendFileSync(file, `${JSON.stringify({ key, usual, cases })}\n`);
}

/** The rows of aims.mjs with what a run measured. An aim is met where the worst case meets it. */
export function rowsOf(file) {
  const measured = new Map();
  for (const line of readFileSync(file, "utf8").split("\n").filter(Boolean)) {
    const { key, ...figures } = JSON.parse(line);
    measured.set(key, figures);
  }
  return Object.entries(aims).map(([key, [work, reference, kind, aim, part = "peer"]]) => {
    const found = measured.get(key);
    const row = { key, work, reference, kind, aim, part };
    if (found === undefined) return row;
    const figureOf = ({ ours, reference }) => (kind === "own" ? ours : ours / reference);
    const order = kind === "rate" ? 1 : -1;
    const [worst] = found.cases.toSorted((one, other) => order * (figureOf(one) - figureOf(other)));
    const { ours, reference: theirs, low, high } = found.usual;
    return {
      ...row,
      ...{ ours: round(ours), theirs: theirs && round(theirs), value: round(figureOf(found.usual)) },
      ...(low !== undefined && { low: round(low), high: round(high) }),
      ...(found.cases.length > 1 && { worst: round(figureOf(worst)), worstCase: worst.name }),
      met: order * (figureOf(worst) - aim) >= 0,
    };
  });
}

export function printRows(rows) {
  const cells = rows.map(({ work, reference, kind, aim, value, met, ours, theirs, low, high, worst }) => [
    work,
    reference || "-",
    theirs ?? "-",
    ours ?? "-",
    value ?? "-",
    low === undefined ? "" : `${low} to ${high}`,
    worst ?? "",
    `${kind === "rate" ? ">=" : "<="} ${aim}`,
    met === undefined ? "not measured" : met ? "met" : "missed",
  ]);
  printTable(
    ["work", "reference", "theirs", "ours", "figure", "single rounds", "worst case", "aim", ""],
    cells,
  );
}

function round(figure) {
  return Number(figure.toPrecision(3));
}
