// A configuration that cannot work is refused before anything is done with it, by the name of the field.

import { kindOf, quoted } from "../border/text.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { logger } from "../logging.js";
import type { HTTPAuth, HTTPServiceConfig } from "./config.js";

/** A configuration whose fields are what they are declared to be; a copy, so that it stays so. */
export type CheckedConfig = Readonly<HTTPServiceConfig>;

/** What is wrong with a value, in words that follow "must be"; nothing when it is right. */
type Check = (value: unknown, field: string) => void;

const FIELDS: { readonly [F in keyof Required<HTTPServiceConfig>]: Check } = {
  namespace: must("a non-empty string", (value) => typeof value === "string" && value !== ""),
  baseUrl,
  headers: headers,
  auth,
  hosts: must('a list of hosts, such as ["api.example.com", "*.example.org:8443"]', (value) =>
    isListOf(value, isString),
  ),
  allowPrivateAddresses: must("a boolean", isBoolean),
  timeout: must("a number of milliseconds, 0 or more", (value) => value === 0 || isPositive(value)),
  fetch: must("a function", isFunction),
  retry: (value, field) => (typeof value === "number" ? count(value, field) : retry(value, field)),
  sse: object({
    reconnect: must('a boolean or "any-method"', (value) => isBoolean(value) || value === "any-method"),
    maxRetries: count,
    lastEventId: must("a string", isString),
    maxEventBytes: must("a whole number of bytes above 0", isSize),
  }),
  maxResponseBytes: must("a whole number of bytes above 0", isSize),
  ca: must("PEM text, or a list of such", (value) => isString(value) || isListOf(value, isString)),
  accessControl: must(
    "access rules, or a function that gives such",
    (value) => isFunction(value) || (typeof value === "object" && value !== null && !Array.isArray(value)),
  ),
  output: must('"normalise", "keep" or "off"', (value) =>
    ["normalise", "keep", "off"].includes(value as string),
  ),
  include: must("a string, a function, or a list of these", isSelectors),
  exclude: must("a string, a function, or a list of these", isSelectors),
  methods: must("a list of HTTP methods", (value) => isListOf(value, isMethod)),
  name: must("a function", isFunction),
  maxNameLength: must("a whole number, 16 or more", (value) => isSize(value) && value >= 16),
  preferJson: must("a boolean or a function", (value) => isBoolean(value) || isFunction(value)),
  documentHeaders: headers,
  maxDocumentBytes: must("a whole number of bytes above 0", isSize),
  allowOutsideFolder: must("a boolean", isBoolean),
};

/** Checks a configuration. What is `undefined` counts as absent. */
export function checkedConfig(config: HTTPServiceConfig): CheckedConfig {
  if (typeof config !== "object" || config === null) {
    throw refusal("config", `must be an object with at least a namespace, not ${kindOf(config)}`);
  }
  const copy: Record<string, unknown> = {};
  for (const [field, check] of Object.entries(FIELDS)) {
    const value = config[field as keyof HTTPServiceConfig];
    if (value === undefined && field !== "namespace") continue;
    check(value, `config.${field}`);
    copy[field] = value;
  }
  warnAboutOthers(config);
  return copy as unknown as HTTPServiceConfig;
}

/** Fields that nobody reads are no error: applications keep their own things in such objects. A misspelt one
 * would be missed otherwise. */
function warnAboutOthers(config: object): void {
  const others = Object.keys(config).filter((field) => !Object.hasOwn(FIELDS, field));
  if (others.length === 0) return;
  logger("openapi").warn(`Fields of the configuration that mean nothing here: ${others.join(", ")}`, {
    fields: others,
  });
}

/** It is quoted where it holds neither a password nor a key, and a missing scheme is the usual mistake. */
function baseUrl(value: unknown, field: string): void {
  if (isHttpUrl(value)) return;
  const isTellable = isString(value) && !/[@?]/.test(value);
  const found = isString(value) && !isTellable ? "a string that is none" : quoted(value);
  const hint =
    isTellable && isHttpUrl(`https://${value}`) && !value.includes("://")
      ? `; did you mean ${quoted(`https://${value}`)}?`
      : "";
  throw refusal(field, `must be an absolute http or https URL, not ${found}${hint}`);
}

function auth(value: unknown, field: string): void {
  object({
    type: must('"bearer", "apiKey" or "basic"', (type) =>
      ["bearer", "apiKey", "basic"].includes(type as string),
    ),
    token: must("a string", isString, { secret: true }),
    headerName: must("the name of a header", (name) => isString(name) && TOKEN.test(name)),
    prefix: must("a string", isString),
    username: must("a string", isString, { secret: true }),
    password: must("a string", isString, { secret: true }),
  })(value, field);
  const { type, token, username } = value as HTTPAuth;
  if (type === undefined) throw refusal(`${field}.type`, 'must be "bearer", "apiKey" or "basic"');
  if (!token && !(type === "basic" && username)) {
    logger("openapi").warn(`${field} has no token, so calls are made without credentials`, { type });
  }
}

const retry = object({
  retries: count,
  delay: must("a number of milliseconds above 0", isPositive),
  maxDelay: must("a number of milliseconds above 0", isPositive),
});

/** Header names are looked at here, values only for being strings: they may be secrets, and are checked where
 * they are written. */
function headers(value: unknown, field: string): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw refusal(field, `must be an object with a string for each header, not ${kindOf(value)}`);
  }
  for (const [name, text] of Object.entries(value)) {
    if (!TOKEN.test(name)) throw refusal(field, `has ${JSON.stringify(name)}, which is no name of a header`);
    if (typeof text !== "string") {
      throw refusal(`${field}[${JSON.stringify(name)}]`, `must be a string, not ${kindOf(text)}`);
    }
  }
}

function count(value: unknown, field: string): void {
  must("a whole number, 0 or more", (number) => Number.isSafeInteger(number) && (number as number) >= 0)(
    value,
    field,
  );
}

function must(
  what: string,
  holds: (value: unknown) => boolean,
  { secret = false }: { secret?: boolean } = {},
): Check {
  return (value, field) => {
    if (holds(value)) return;
    // A value that may be a secret is not quoted.
    const found = secret && typeof value === "string" ? "a string that is none" : quoted(value);
    throw refusal(field, `must be ${what}, not ${found}`);
  };
}

function object(fields: Record<string, Check>): Check {
  return (value, field) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw refusal(field, `must be an object, not ${kindOf(value)}`);
    }
    for (const [name, check] of Object.entries(fields)) {
      const inner = (value as Record<string, unknown>)[name];
      if (inner !== undefined) check(inner, `${field}.${name}`);
    }
  };
}

/** The characters of header names and methods (RFC 9110). */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

function isMethod(value: unknown): boolean {
  return isString(value) && TOKEN.test(value);
}

function isSelectors(value: unknown): boolean {
  const isSelector = (one: unknown) => isString(one) || isFunction(one);
  return isSelector(value) || isListOf(value, isSelector);
}

function isListOf(value: unknown, holds: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(holds);
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function isPositive(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value) && value > 0;
}

function isSize(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function isHttpUrl(value: unknown): boolean {
  return isString(value) && /^https?:\/\//i.test(value.trim()) && URL.canParse(value);
}

function refusal(field: string, sentence: string): CallError {
  return new CallError(InfrastructureErrorCode.VALIDATION_ERROR, `${field} ${sentence}`, { field });
}
