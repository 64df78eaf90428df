// node bench/plot.mjs: draws bench/results.json as docs/images/speed.svg, for the README. One bar for each row: how many times
// as fast as the reference, on a scale where twice and half are equally far from "the same".

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const { rows, date, version, machine } = JSON.parse(readFileSync(at("results.json"), "utf8"));

const WIDTH = 880;
const LEFT = 400;
const RIGHT = 90;
const ROW = 26;
const TOP = 64;
const TICKS = [0.5, 1, 2, 4, 8, 16, 32];

/** Of the figures, those that compare: the cost of ours is turned around, so that a longer bar is always better. */
const bars = rows
  .filter(({ value, kind }) => value !== undefined && kind !== "own")
  .map(({ work, reference, kind, value }) => ({
    work,
    reference,
    times: kind === "rate" ? value : 1 / value,
  }));

const low = Math.log2(Math.min(0.5, ...bars.map(({ times }) => times)));
const high = Math.log2(Math.max(4, ...bars.map(({ times }) => times)));
const x = (times) => LEFT + ((Math.log2(times) - low) / (high - low)) * (WIDTH - LEFT - RIGHT);
const height = TOP + bars.length * ROW + 40;

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const text = (className, left, top, content, anchor = "start") =>
  `<text class="${className}" x="${left.toFixed(1)}" y="${top}" text-anchor="${anchor}">${escaped(content)}</text>`;

const grid = TICKS.filter((tick) => Math.log2(tick) >= low && Math.log2(tick) <= high).flatMap((tick) => [
  `<line class="${tick === 1 ? "same" : "grid"}" x1="${x(tick).toFixed(1)}" x2="${x(tick).toFixed(1)}" y1="${TOP - 8}" y2="${height - 32}"/>`,
  text("tick", x(tick), TOP - 14, `${tick}x`, "middle"),
]);

const drawn = bars.flatMap(({ work, reference, times }, index) => {
  const top = TOP + index * ROW;
  const [from, to] = [x(1), x(times)].sort((one, other) => one - other);
  const ahead = times >= 1;
  return [
    `<rect class="${ahead ? "ahead" : "behind"}" x="${from.toFixed(1)}" y="${top + 3}" width="${Math.max(1, to - from).toFixed(1)}" height="${ROW - 10}" rx="2"/>`,
    text("work", LEFT - 12, top + 13, work, "end"),
    text("figure", to + 6, top + 15, `${times.toPrecision(2)}x`),
    `<title>${escaped(`${work}: ${times.toPrecision(3)} times ${reference}`)}</title>`,
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
const note = `${date}, version ${version}, ${machine.cores} cores, ${machine.platform}, Node ${machine.node}. 1x is the reference; longer is faster.`;
const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Speed next to other packages">
<style>${style}</style>
${text("title", 12, 24, "Times as fast as the reference")}
${[...grid, ...drawn].join("\n")}
${text("note", 12, height - 12, note)}
</svg>
`;
const file = at("../docs/images/speed.svg");
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, svg);
console.log(
  `docs/images/speed.svg: ${bars.length} rows, ${bars.filter(({ times }) => times >= 1).length} at 1x or better`,
);
