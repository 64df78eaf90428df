import { invalid } from "../errors.js";
import { expandedText } from "../interop/references.js";

/**
 * Replaces references to environment variables and files in a text, in the texts of an array, or in the values of an
 * object. What was put in their place is added to `expanded`: such values are not to be shown.
 */
export function expandReferences<T>(value: T, path: string, server: string, expanded: string[]): T {
  if (typeof value === "string") return expandText(value, path, server, expanded) as T;
  if (Array.isArray(value)) {
    return value.map((item, index) => expandReferences(item, `${path}[${index}]`, server, expanded)) as T;
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key,
        expandReferences(item, `${path}.${key}`, server, expanded),
      ]),
    ) as T;
  }
  return value;
}

function expandText(text: string, path: string, server: string, expanded: string[]): string {
  return expandedText(text, {
    folder: process.cwd(),
    expanded: (found) => expanded.push(found),
    refuse: (problem, hint, variable) =>
      invalid(
        `The configuration of MCP server '${server}' refers to ${problem} in '${path}'` +
          `${variable === undefined ? ". " : ", and there is none. "}${hint}`,
        { server, path, ...(variable !== undefined && { variable }) },
      ),
  });
}
