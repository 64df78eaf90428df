// The sources of a configuration, each checked for itself.

import { resolve } from "node:path";
import { failed } from "../../errors.js";
import { importedRules } from "../../imported-access.js";
import { nearestName } from "../../interop/nearest-name.js";
import { aName, isRecord, refusal } from "../../interop/options.js";
import { patternOf } from "../../interop/pattern.js";
import { kindOf } from "../../interop/text.js";
import { checkedConfig as checkedServer, type MCPClientConfig } from "../../mcp/config.js";
import type { MCPTokenStore } from "../../mcp/oauth-config.js";
import { accessOf, type MCPToolView } from "../../mcp/tool-view.js";
import type { HTTPServiceConfig } from "../../openapi/config.js";
import { checkedConfig as checkedService } from "../../openapi/config-check.js";
import { CommandError } from "../exit-codes.js";
import type { Expander } from "./expand.js";
import type { RulesByPattern } from "./rules.js";
import { tokenFile } from "./token-file.js";

/** Where the operations of a namespace come from. */
export type Source = MCPSource | OpenAPISource;

interface MCPSource {
  readonly kind: "mcp";
  readonly name: string;
  /** Its operations may be in other namespaces than that of its name. */
  readonly mayNameOthers: boolean;
  /** Rules of single tools that have fitted none so far. */
  readonly unusedToolRules: ReadonlySet<string>;
  /** Throws if a variable or a file that it refers to is missing: the other sources are unharmed by that. */
  config(): MCPClientConfig;
}

interface OpenAPISource {
  readonly kind: "openapi";
  readonly name: string;
  readonly mayNameOthers: false;
  readonly unusedToolRules?: undefined;
  config(): { readonly document: string; readonly settings: HTTPServiceConfig };
}

/** Fields of other programs' files of servers. They are ignored without a warning. */
const OF_OTHERS = new Set([
  ...["alwaysAllow", "autoApprove", "autoApproveTools", "autoStart", "description", "dev", "disabledTools"],
  ...["envFile", "gallery", "icon", "initTimeout", "name", "note", "startupTimeout", "title"],
  ...["transportType", "trust"],
]);
/** Of a server: where `createMCPClient` replaces references itself, and knows what not to show. */
const EXPANDED_THERE = new Set(["command", "args", "env", "url", "headers", "oauth"]);

/** What the checks of a source need from the whole configuration. */
interface Surroundings {
  readonly file: string;
  readonly folder: string;
  readonly rules: RulesByPattern;
  readonly expander: Expander;
  notify(sentence: string): void;
}

/** An entry of `mcpServers`. */
export function serverSource(
  name: string,
  given: unknown,
  { file, folder, rules, expander, notify }: Surroundings,
): MCPSource {
  const place = `mcpServers.${name}`;
  const path = `${file}: ${place}`;
  const unused = new Set<string>();
  const config = later(
    () => {
      if (!isRecord(given)) return given;
      const entries = Object.entries(given).map(([key, value]) => [
        key,
        EXPANDED_THERE.has(key) ? expander.located(value) : expander.value(value, `${place}.${key}`, key),
      ]);
      return withLogin(Object.fromEntries(entries), notify, (given) => tokenFile(name, file, folder, given));
    },
    (expanded) => {
      const others = (names: string[]) => refuseOthers(names, path);
      const checked = checkedServer(name, expanded, { prefix: `${path}.`, others });
      const { command, url, cwd, toolCache } = checked;
      const { access, ...tools } = (checked.tools ?? {}) as MCPToolView;
      if (isRecord(access)) for (const pattern of Object.keys(access)) unused.add(pattern);
      if (command === undefined && url === undefined) {
        throw refusal(path, "must have `command`, the program to start, or `url`, the address of a server");
      }
      return {
        ...checked,
        // A program starts where its configuration is.
        cwd: url === undefined ? resolve(folder, cwd ?? ".") : cwd,
        toolCache: typeof toolCache === "string" ? resolve(folder, toolCache) : toolCache,
        tools,
        accessControl: rules.over(rulesOfTools(checked, unused)),
      };
    },
  );
  return {
    kind: "mcp",
    name,
    mayNameOthers: isRecord(given) && given.keepIds === true,
    config,
    unusedToolRules: unused,
  };
}

/** The rules of a server, with those of single tools over them: `access` of the file is over both. */
function rulesOfTools(
  { tools: view = {}, accessControl }: MCPClientConfig,
  unused: Set<string>,
): MCPClientConfig["accessControl"] {
  const tools = view as MCPToolView;
  if (tools.access === undefined) return accessControl;
  return (spec) => {
    const { tool } = Object(spec._meta) as { tool?: string };
    const name = tool ?? spec.name;
    for (const pattern of unused) if (patternOf(pattern).test(name)) unused.delete(pattern);
    return accessOf(tools, { name }) ?? importedRules(accessControl, spec);
  };
}

/** A file cannot have the function that shows a page to the user. */
function withLogin(
  server: Record<string, unknown>,
  notify: (sentence: string) => void,
  storeOf: (given: unknown) => MCPTokenStore,
): Record<string, unknown> {
  const { oauth } = server;
  if (!isRecord(oauth) || oauth.clientCredentials !== undefined) return server;
  const onAuthorize = ({ server: name, url }: { server: string; url: string }) =>
    notify(`${name} wants you to log in. Open this page in a browser: ${url}`);
  return { ...server, oauth: { ...oauth, tokenStore: storeOf(oauth.tokenStore), onAuthorize } };
}

function refuseOthers(names: readonly string[], path: string): void {
  const unknown = names.find((name) => !OF_OTHERS.has(name));
  if (unknown !== undefined)
    throw refusal(`${path}.${unknown.slice(0, 64)}`, "is not an option of an MCP server");
}

/** An entry of `openapi`. */
export function serviceSource(
  name: string,
  given: unknown,
  { file, folder, rules, expander }: Surroundings,
): OpenAPISource {
  const place = `openapi.${name}`;
  const path = `${file}: ${place}`;
  if (!isRecord(given)) throw refusal(path, `must be an object with \`document\`, not ${kindOf(given)}`);
  if (Object.hasOwn(given, "namespace")) {
    throw refusal(`${path}.namespace`, `is not an option: the namespace is the key, ${JSON.stringify(name)}`);
  }
  const config = later(
    () => withTokens(expander.value(given, place), name, (path) => tokenFile(name, file, folder, path)),
    ({ document, ...settings }) => {
      if (document === undefined) refuseMissingDocument(Object.keys(settings), path);
      const checked = checkedService(settings, { prefix: `${path}.` });
      const at = aName(document, `${path}.document`) as string;
      return {
        document: /^https?:\/\//i.test(at) ? at : resolve(folder, at),
        settings: { ...checked, namespace: name, accessControl: rules.over(checked.accessControl as never) },
      };
    },
  );
  return { kind: "openapi", name, mayNameOthers: false, config };
}

/** The tokens of a user are in a file, and `operations login` puts them there. */
function withTokens(
  settings: Record<string, unknown>,
  name: string,
  storeOf: (given: unknown) => MCPTokenStore,
): Record<string, unknown> {
  const { auth } = settings;
  if (!isRecord(auth) || auth.type !== "oauth2") return settings;
  const isOfUser = auth.grant === "authorization_code" || auth.grant === "refresh_token";
  if (!isOfUser && typeof auth.tokenStore !== "string") return settings;
  const onAuthorize = () => {
    throw failed(`needs a login. Run: operations login ${name}`);
  };
  return { ...settings, auth: { ...auth, tokenStore: storeOf(auth.tokenStore), onAuthorize } };
}

/** A misspelt name explains why it is missing. */
function refuseMissingDocument(names: readonly string[], path: string): void {
  const meant = names.find((name) => nearestName(name, ["document"], 1) !== undefined);
  if (meant !== undefined) throw refusal(`${path}.${meant}`, "is not an option. Did you mean document?");
  throw refusal(path, "must have `document`, the file or the URL of an OpenAPI document");
}

/** Checks at once what can be checked at once. A dangling reference is reported when the source is loaded. */
function later<T, U>(expand: () => T, check: (expanded: T) => U): () => U {
  let problem: unknown;
  let checked: U | undefined;
  try {
    checked = check(expand());
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    problem = error;
  }
  return () => {
    if (problem !== undefined) throw problem;
    return checked as U;
  };
}
