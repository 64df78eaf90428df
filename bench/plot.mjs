// node bench/plot.mjs: draws bench/results.json as docs/images/speed.svg, and writes its figures into docs/speed.md and the
// README. One bar for each row: how many times as fast as the reference, on a scale where twice and half are equally far from
// "the same".

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const { rows, date, version, machine } = JSON.parse(readFileSync(at("results.json"), "utf8"));

const WIDTH = 980;
const LEFT = 540;
const RIGHT = 90;
const ROW = 26;
const TOP = 64;
const TICKS = [0.5, 1, 2, 4, 8, 16, 32];

/** Next to what one would use instead, and next to the limit. */
const PARTS = { peer: "next to what you would use instead", limit: "next to the limit" };

/** Of the figures, those that compare: the cost of ours is turned around, so that a longer bar is always better. */
const barsOf = (part) =>
  rows
    .filter((row) => row.value !== undefined && row.kind !== "own" && (row.part ?? "peer") === part)
    .map(({ work, reference, kind, value }) => ({
      work,
      reference,
      times: kind === "rate" ? value : 1 / value,
      isRate: kind === "rate",
    }));
const peers = barsOf("peer");
const bars = [...peers, ...barsOf("limit")];

const low = Math.log2(Math.min(0.5, ...bars.map(({ times }) => times)));
const high = Math.log2(Math.max(4, ...bars.map(({ times }) => times)));
const x = (times) => LEFT + ((Math.log2(times) - low) / (high - low)) * (WIDTH - LEFT - RIGHT);
// The second part begins two rows further down, below its heading.
const topOf = (index) => TOP + (index < peers.length ? index : index + 2) * ROW;
const height = topOf(bars.length) + 40;

/** A number in a few digits, never as "1.2e+2". */
const shown = (figure, digits) => Number(figure.toPrecision(digits)).toLocaleString("en");
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const text = (className, left, top, content, anchor = "start") =>
  `<text class="${className}" x="${left.toFixed(1)}" y="${top}" text-anchor="${anchor}">${escaped(content)}</text>`;

const grid = TICKS.filter((tick) => Math.log2(tick) >= low && Math.log2(tick) <= high).flatMap((tick) => [
  `<line class="${tick === 1 ? "same" : "grid"}" x1="${x(tick).toFixed(1)}" x2="${x(tick).toFixed(1)}" y1="${TOP - 8}" y2="${height - 32}"/>`,
  text("tick", x(tick), TOP - 14, `${tick}x`, "middle"),
]);

const drawn = bars.flatMap(({ work, reference, times }, index) => {
  const top = topOf(index);
  const [from, to] = [x(1), x(times)].sort((one, other) => one - other);
  const ahead = times >= 1;
  return [
    // Without a group of its own, a title would name the whole picture.
    `<g><title>${escaped(`${work}: ${shown(times, 3)} times ${reference}`)}</title>`,
    `<rect class="${ahead ? "ahead" : "behind"}" x="${from.toFixed(1)}" y="${top + 3}" width="${Math.max(1, to - from).toFixed(1)}" height="${ROW - 10}" rx="2"/>`,
    `<text x="${LEFT - 12}" y="${top + 15}" text-anchor="end">${escaped(work)}<tspan class="note" dx="6">${escaped(reference)}</tspan></text>`,
    text("figure", to + 6, top + 15, `${shown(times, 2)}x`),
    "</g>",
  ];
});

const style = `
text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #24292f; }
.title { font-size: 15px; font-weight: 600; } .tick, .note { fill: #57606a; font-size: 11px; } .figure { font-weight: 600; }
.grid { stroke: #d0d7de; } .same { stroke: #57606a; } .ahead { fill: #1a7f64; } .behind { fill: #bf6a02; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .tick, .note { fill: #9198a1; } .grid { stroke: #30363d; } .same { stroke: #9198a1; }
  .ahead { fill: #3fb68b; } .behind { fill: #e3a04f; }
}`;
const note = `${date}, version ${version}, ${machine.cores} cores, ${machine.platform}, Node ${machine.node}. 1x is the reference, which is named in grey.`;
const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Speed next to other packages">
<style>${style}</style>
${text("title", 12, 24, `Times as fast as the reference, ${PARTS.peer}`)}
${bars.length > peers.length ? text("title", 12, topOf(peers.length) - 12, `The same, ${PARTS.limit}`) : ""}
${[...grid, ...drawn].join("\n")}
${text("note", 12, height - 12, note)}
</svg>
`;
const file = at("../docs/images/speed.svg");
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, svg);

const behind = peers.filter(({ times }) => times < 1);
const measured = rows.filter(({ value }) => value !== undefined);
const missed = measured.filter(({ met }) => !met);

/** Puts lines between `<!-- name -->` and `<!-- /name -->` of a page. */
function fill(page, name, lines) {
  const before = readFileSync(at(page), "utf8");
  const pattern = new RegExp(`(<!-- ${name} -->\\n)[\\s\\S]*?(<!-- /${name} -->)`);
  if (!pattern.test(before)) throw new Error(`${page} has no place for ${name}`);
  writeFileSync(
    at(page),
    before.replace(pattern, (_, start, end) => `${start}${lines.map((line) => `${line}\n`).join("")}${end}`),
  );
}

/** Three rates, in words. */
const named = (list) =>
  list.map(({ work, reference, times }) => `${work} (${shown(times, 2)}x ${reference})`).join("; ");
const rates = peers.filter(({ isRate }) => isRate).sort((one, other) => other.times - one.times);
const slower = rates.filter(({ times }) => times < 1);
fill("../README.md", "speed", [
  `On ${date}, version ${version} was as fast as what people use instead, or faster, in ${peers.length - behind.length} of ${peers.length} comparisons, and slower in`,
  `${behind.length}. Furthest ahead: ${named(rates.slice(0, 3))}.`,
  ...(slower.length > 0 ? [`Furthest behind: ${named(slower.slice(-3).reverse())}.`] : []),
]);

const machineLine = `${machine.cores} cores, ${machine.platform}, Node ${machine.node}`;
const aimOf = ({ kind, aim }) => (kind === "rate" ? `at least ${aim}` : `at most ${aim}`);
const verdict = ({ met }) => (met === undefined ? "not measured" : met ? "met" : "**missed**");
const cell = (figure) => (figure === undefined ? "" : figure.toLocaleString("en"));
/** How far the ratio went in single rounds. */
const spread = ({ low, high }) => (low === undefined ? "" : `${cell(low)} to ${cell(high)}`);
const worst = (row) => (row.worst === undefined ? "" : `${cell(row.worst)} (${row.worstCase})`);
const tableOf = (part) => [
  `### ${PARTS[part][0].toUpperCase()}${PARTS[part].slice(1)}`,
  "",
  "| work | reference | reference's figure | our figure | ratio | single rounds | worst case | aim | |",
  "|---|---|---|---|---|---|---|---|---|",
  ...rows
    .filter((row) => (row.part ?? "peer") === part)
    .map((row) => {
      const ratio = row.kind === "own" ? "" : cell(row.value);
      return `| ${row.work} | ${row.reference} | ${cell(row.theirs)} | ${cell(row.ours)} | ${ratio} | ${spread(row)} | ${worst(row)} | ${aimOf(row)} | ${verdict(row)} |`;
    }),
];
fill("../docs/speed.md", "figures", [
  `Measured on ${date}, version ${version}, ${machineLine}.`,
  "",
  ...tableOf("peer"),
  "",
  ...tableOf("limit"),
]);
console.log(
  `docs/images/speed.svg, docs/speed.md and README.md: ${bars.length} comparisons, ${behind.length} with other packages are slower; ${missed.length} of ${measured.length} aims missed`,
);
