// Tables that fit the terminal.

import { harmless } from "./terminal.js";

const GAP = "  ";
/** A column is not made narrower than this. */
const NARROWEST = 8;

/** Rows under headings. Where there is too little room, the widest columns are cut. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  room: number,
): string {
  const cells = [headings, ...rows].map((row) => row.map(oneLine));
  const wanted = headings.map((_, column) => Math.max(...cells.map((row) => widthOf(row[column] ?? ""))));
  const widths = fitted(wanted, room - GAP.length * (headings.length - 1));
  return cells
    .map((row) =>
      widths
        .map((width, column) => padded(cut(row[column] ?? "", width), width))
        .join(GAP)
        .trimEnd(),
    )
    .join("\n");
}

/** Takes from the widest column first. */
function fitted(wanted: readonly number[], room: number): number[] {
  const widths = [...wanted];
  for (let over = sum(widths) - room; over > 0; over = sum(widths) - room) {
    const widest = widths.indexOf(Math.max(...widths));
    const second = Math.max(NARROWEST, ...widths.filter((_, column) => column !== widest));
    const width = widths[widest] as number;
    if (width <= NARROWEST) break;
    const step = Math.max(1, Math.min(over, width - Math.min(second, width - 1)));
    widths[widest] = Math.max(NARROWEST, width - step);
  }
  return widths;
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

function oneLine(text: string): string {
  return harmless(text.replace(/\s+/g, " ").trim());
}

function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}

function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = "";
  let room = width - 1;
  for (const { segment } of graphemes.segment(text)) {
    room -= widthOf(segment);
    if (room < 0) break;
    kept += segment;
  }
  return `${kept.trimEnd()}…`;
}

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });
/** Scripts whose characters take two columns, and pictures. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u;

/** How many columns a text takes. */
function widthOf(text: string): number {
  // Plain ASCII, the usual case.
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}
