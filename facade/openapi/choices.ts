// The selection of an import: the configuration as data, with the results of the user's own functions.

import { type CallError, invalid } from "../errors.js";
import { quoted } from "../interop/text.js";
import { logger } from "../logging.js";
import type { OpenApiDocument } from "../native-binding.js";
import type { HTTPServiceConfig, OpenAPICandidate, OpenAPISelector } from "./config.js";
import type { CheckedConfig } from "./config-check.js";

/** What the native side reads (`operations_openapi::ImportChoices`). */
interface ImportChoices {
  methods?: readonly string[];
  include?: string[];
  exclude?: string[];
  maxNameLength?: number;
  preferJson?: boolean;
  int64?: HTTPServiceConfig["int64"];
  ownNamespaces?: boolean;
  /** By method and path: `GET /pets`. */
  answers?: Record<string, Answer>;
}

interface Answer {
  name?: string;
  include?: boolean;
  exclude?: boolean;
  preferJson?: boolean;
}

const DEFAULT_METHODS = ["get", "post", "put", "patch", "delete"];

type Predicate = Exclude<OpenAPISelector, string>;

/** The choices as JSON. The operations of the document are listed first only if there are functions to call. */
export function choicesFor(document: OpenApiDocument, config: CheckedConfig): string {
  const include = selectors(config.include);
  const exclude = selectors(config.exclude);
  const { methods, maxNameLength, preferJson, int64, name } = config;
  const choices: ImportChoices = {
    methods,
    include: config.include === undefined ? undefined : include.words,
    exclude: exclude.words,
    maxNameLength,
    preferJson: preferJson === true,
    int64,
    ownNamespaces: config.namespace === undefined,
  };
  warnOfUnknown(document, methods ?? DEFAULT_METHODS, { include: include.words, exclude: exclude.words });
  const predicates: PredicateField[] = [];
  if (name !== undefined) predicates.push(["name", (operation) => nameFrom(name, operation)]);
  if (include.functions.length > 0) predicates.push(["include", anyOf(include.functions, "include")]);
  if (exclude.functions.length > 0) predicates.push(["exclude", anyOf(exclude.functions, "exclude")]);
  if (typeof preferJson === "function") predicates.push(["preferJson", anyOf([preferJson], "preferJson")]);
  if (predicates.length > 0) choices.answers = answers(document, methods ?? DEFAULT_METHODS, predicates);
  return JSON.stringify(choices);
}

type PredicateField = [
  field: keyof Answer,
  ask: (operation: OpenAPICandidate) => string | boolean | undefined,
];

function answers(
  document: OpenApiDocument,
  methods: readonly string[],
  predicates: readonly PredicateField[],
): Record<string, Answer> {
  // Without a prototype: a path may be called anything.
  const all: Record<string, Answer> = Object.create(null);
  for (const operation of JSON.parse(document.offers([...methods])) as OpenAPICandidate[]) {
    const answer: Record<string, string | boolean | undefined> = {};
    for (const [field, ask] of predicates) answer[field] = ask(operation);
    all[`${operation.method} ${operation.path}`] = answer;
  }
  return all;
}

/** A name that is that of no operation and no tag is probably misspelt. Patterns of paths are matched natively, and are left
 * alone here. */
function warnOfUnknown(
  document: OpenApiDocument,
  methods: readonly string[],
  words: Record<"include" | "exclude", readonly string[]>,
): void {
  const isName = (word: string) => !/[/*]/.test(word);
  if (!words.include.some(isName) && !words.exclude.some(isName)) return;
  const known = new Set<string | undefined>();
  for (const { name, operationId, tags } of JSON.parse(document.offers([...methods])) as OpenAPICandidate[]) {
    for (const word of [name, operationId, ...tags]) known.add(word);
  }
  for (const field of ["include", "exclude"] as const) {
    for (const word of words[field]) {
      if (!isName(word) || known.has(word)) continue;
      const sentence = `config.${field} has ${quoted(word)}, which is neither an operation nor a tag of the document`;
      logger("openapi").warn(sentence, { field: `config.${field}`, word });
    }
  }
}

function nameFrom(
  name: NonNullable<HTTPServiceConfig["name"]>,
  operation: OpenAPICandidate,
): string | undefined {
  const chosen: unknown = name(operation);
  if (chosen === undefined || chosen === null) return undefined;
  if (typeof chosen === "string" && chosen !== "") return chosen;
  throw badAnswer("name", operation, "a non-empty string, or nothing to keep the name");
}

/** Whether one of the functions returns true. */
function anyOf(functions: readonly Predicate[], field: string) {
  return (operation: OpenAPICandidate): boolean =>
    functions.some((says) => {
      const answer: unknown = says(operation);
      // A promise would always count as a yes.
      if (typeof answer === "object" && answer !== null) throw badAnswer(field, operation, "a boolean");
      return Boolean(answer);
    });
}

function selectors(given: HTTPServiceConfig["include"]): { words: string[]; functions: Predicate[] } {
  const list: readonly OpenAPISelector[] =
    given === undefined ? [] : typeof given === "string" || typeof given === "function" ? [given] : given;
  return {
    words: list.filter((selector) => typeof selector === "string"),
    functions: list.filter((selector) => typeof selector === "function"),
  };
}

function badAnswer(field: string, { method, path }: OpenAPICandidate, expected: string): CallError {
  return invalid(`config.${field} must return ${expected}; it did not for ${method} ${path}`, {
    field: `config.${field}`,
    method,
    path,
  });
}
