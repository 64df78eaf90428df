// Which tools of a server become operations, and as what.

import { checkedRules } from "../imported-access.js";
import { type Check, checkedOptions, isListOf, isRecord, isString, must, texts } from "../interop/options.js";
import { patternOf } from "../interop/pattern.js";
import type { AccessControl } from "../types.js";

/**
 * A tool as its server lists it.
 *
 * @example
 * ```ts
 * const isSafe = ({ annotations }: MCPListedTool) => annotations?.["readOnlyHint"] === true;
 * ```
 */
export interface MCPListedTool {
  name: string;
  title?: unknown;
  description?: unknown;
  inputSchema?: unknown;
  outputSchema?: unknown;
  annotations?: { title?: unknown; [hint: string]: unknown };
  _meta?: unknown;
}

/**
 * Tools by their names at the server: a list, an object, or a function. In names, `*` stands for anything; of several that fit, the
 * name itself counts, and otherwise the last.
 *
 * @example
 * ```ts
 * const include: MCPToolChoice = ["read_*", "list_directory"];
 * ```
 */
export type MCPToolChoice = readonly string[] | Record<string, boolean> | ((tool: MCPListedTool) => boolean);

/**
 * Which tools of a server become operations, under which name, with which description and for whom.
 *
 * @example
 * ```ts
 * const tools: MCPToolView = {
 *   exclude: ["delete_*"],
 *   rename: { read_text_file: "read" },
 *   access: { "write_*": { requiredScopes: ["write"] } },
 *   trustAnnotations: true,
 * };
 * ```
 */
export interface MCPToolView {
  /** Only these. */
  include?: MCPToolChoice;
  /** Not these. */
  exclude?: MCPToolChoice;
  /** Names of operations. The server gets its own name of the tool. */
  rename?: Record<string, string> | ((tool: MCPListedTool) => string | undefined);
  /** Descriptions. */
  describe?: Record<string, string> | ((tool: MCPListedTool) => string | undefined);
  /** Rules, in place of `accessControl`. */
  access?: Record<string, AccessControl> | ((tool: MCPListedTool) => AccessControl | undefined);
  /** Whether a tool with `readOnlyHint` is a QUERY. Only for servers that you trust. */
  trustAnnotations?: boolean | MCPToolChoice;
}

type Rule<T> = readonly string[] | Record<string, T> | ((tool: MCPListedTool) => T | undefined);

const aChoice = must(
  "a list of names, an object with true or false for each name, or a function",
  (value) =>
    typeof value === "function" ||
    isListOf(value, isString) ||
    (isRecord(value) && Object.values(value).every((each) => typeof each === "boolean")),
);
const orFunction =
  (check: Check): Check =>
  (value, path) =>
    typeof value === "function" ? value : check(value, path);
const textByName = orFunction(texts((name) => name !== "", "tool"));
const rulesByName = orFunction((value, path) => {
  if (!isRecord(value)) return checkedRules(value, path);
  const rules = Object.entries(value).map(([name, each]) => [
    name,
    checkedRules(each, `${path}[${JSON.stringify(name)}]`),
  ]);
  return Object.fromEntries(rules);
});

/** A list alone is what is included, as other programs write it. */
export const aToolView: Check = (value, path) =>
  checkedOptions<MCPToolView>(
    Array.isArray(value) ? { include: value } : value,
    {
      include: aChoice,
      exclude: aChoice,
      rename: textByName,
      describe: textByName,
      access: rulesByName,
      trustAnnotations: (given, at) => (typeof given === "boolean" ? given : aChoice(given, at)),
    },
    { prefix: `${path}.` },
  );

function valueFor<T>(rule: Rule<T> | undefined, tool: MCPListedTool): T | true | undefined {
  if (rule === undefined) return undefined;
  if (typeof rule === "function") return rule(tool);
  const { name } = tool;
  if (Array.isArray(rule)) return rule.some((pattern) => patternOf(pattern).test(name)) || undefined;
  const byName = rule as Record<string, T>;
  if (Object.hasOwn(byName, name)) return byName[name];
  const pattern = Object.keys(byName).findLast((each) => patternOf(each).test(name));
  return pattern === undefined ? undefined : byName[pattern];
}

export function isIncluded({ include, exclude }: MCPToolView, tool: MCPListedTool): boolean {
  const isWanted = include === undefined || valueFor(include, tool) === true;
  return isWanted && valueFor(exclude, tool) !== true;
}

/** What a tool is as an operation, where that is not what the server says. */
export function viewOf(
  view: MCPToolView,
  tool: MCPListedTool,
): { name: string | undefined; description: string | undefined; isQuery: boolean } {
  const { rename, describe, trustAnnotations: trust } = view;
  const isTrusted = typeof trust === "boolean" ? trust : valueFor(trust, tool) === true;
  return {
    name: valueFor(rename, tool) as string | undefined,
    description: valueFor(describe, tool) as string | undefined,
    isQuery: isTrusted && tool.annotations?.readOnlyHint === true,
  };
}

export function accessOf({ access }: MCPToolView, tool: MCPListedTool): AccessControl | undefined {
  return valueFor(access, tool) as AccessControl | undefined;
}

/** Names and patterns that are written out and fit no tool. They are probably misspelt. */
export function uselessNames(view: MCPToolView, tools: readonly string[]): string[] {
  const rules = Object.values(view).filter((rule) => typeof rule === "object");
  const names = rules.flatMap((rule: object) => (Array.isArray(rule) ? rule : Object.keys(rule)));
  return [...new Set<string>(names)].filter((name) => !tools.some((tool) => patternOf(name).test(tool)));
}
