/** The ids that a pattern names. */
export interface IdPattern {
  test(id: string): boolean;
}

/** `*` stands for anything, dots and slashes included. Linear in the length of an id, whatever the pattern: ids come from others. */
export function patternOf(pattern: string): IdPattern {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return { test: (id) => id === pattern };
  return {
    test(id) {
      if (!id.startsWith(first) || !id.endsWith(last)) return false;
      let at = first.length;
      for (const part of rest) {
        const found = id.indexOf(part, at);
        if (found === -1) return false;
        at = found + part.length;
      }
      return at + last.length <= id.length;
    },
  };
}
