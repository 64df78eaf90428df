import { invalid } from "../errors.js";

/** `${env:NAME}` and `${env:NAME:-default}`. */
const REFERENCE = /\$\{env:([^}:]+)(?::-([^}]*))?\}/g;

/**
 * Replaces references to environment variables in a text, in the texts of an array, or in the values of an
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
  return text.replace(REFERENCE, (_, name: string, otherwise?: string) => {
    const found = process.env[name];
    if (found !== undefined) {
      expanded.push(found);
      return found;
    }
    if (otherwise !== undefined) return otherwise;
    throw invalid(
      `The configuration of MCP server '${server}' refers to the environment variable ${name} in '${path}', ` +
        `and there is none. Set it, or give a default: \${env:${name}:-default}`,
      { server, path, variable: name },
    );
  });
}
