/** The ids that a pattern names. `*` stands for anything, dots and slashes included. */
export function expressionFor(pattern: string): RegExp {
  const escaped = pattern.split("*").map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, "\\$&"));
  return new RegExp(`^${escaped.join(".*")}$`, "su");
}
