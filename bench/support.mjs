// What the benchmarks share.

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export function printTable(headings, rows) {
  const table = [headings, ...rows].map((row) => row.map(String));
  const widths = headings.map((_, column) => Math.max(...table.map((row) => row[column].length)));
  const line = (row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join("  ");
  console.log(`\n${line(table[0])}\n${widths.map((width) => "-".repeat(width)).join("  ")}`);
  for (const row of table.slice(1)) console.log(line(row));
}
