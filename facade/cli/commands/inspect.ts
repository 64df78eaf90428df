import { CallError, failed } from "../../errors.js";
import { counted, messageOf } from "../../interop/text.js";
import type { MCPClientWrapper } from "../../mcp/client-types.js";
import type { MCPClientConfig } from "../../mcp/config.js";
import { MCPClientLoader } from "../../mcp/loader.js";
import { importFile } from "../../openapi/file.js";
import type { ImportedService } from "../../openapi/import.js";
import type { OpenAPIReportEntry } from "../../openapi/types.js";
import { importUrl } from "../../openapi/url.js";
import { usageError } from "../exit-codes.js";
import { configFor } from "../hub.js";
import { summaryOf } from "../operations.js";
import { isDocument } from "../parse.js";
import type { Workplace } from "../perform.js";
import { table } from "../table.js";

/** The namespace that is not shown: what is inspected has none yet. */
const NAME = "inspected";
const TIMEOUT = 30_000;

export async function inspectCommand(at: Workplace): Promise<undefined> {
  const { words, options, interrupts, progress } = at;
  const [what = "", ...rest] = words;
  const timeout = options.whole("timeout", 1) ?? TIMEOUT;
  if (options.has("mcp") && options.has("openapi"))
    throw usageError("--mcp and --openapi exclude each other");
  progress.show(`Looking at ${what}`);
  if (options.has("config")) {
    refuseMore(rest);
    return inspectSource(what, at);
  }
  if (/^https?:\/\//i.test(what)) {
    refuseMore(rest);
    await inspectUrl(what, timeout, at);
  } else if (isDocument(what, options) && !options.has("mcp")) {
    refuseMore(rest);
    await showDocument(await interrupts.during(importFile(what, { namespace: NAME })), at);
  } else {
    // One argument with spaces is a whole command: `inspect "npx -y some-server"`.
    const [command = "", ...args] = rest.length === 0 ? what.trim().split(/\s+/) : words;
    await inspectServer({ command, args, inheritEnv: true, connectTimeout: timeout }, at);
  }
  return undefined;
}

/** A source of a configuration, with what the configuration says about it. */
async function inspectSource(name: string, at: Workplace): Promise<undefined> {
  const { sources, file } = await configFor(at);
  const source = sources.find((each) => each.name === name);
  if (source?.kind !== "openapi") throw usageError(`There is no OpenAPI source ${name} in ${file}`);
  const { document, settings } = source.config();
  const imported = /^https?:\/\//i.test(document)
    ? importUrl(document, settings)
    : importFile(document, settings);
  await showDocument(await at.interrupts.during(imported), at);
  return undefined;
}

function refuseMore(rest: readonly string[]): void {
  if (rest.length > 0) throw usageError(`One document or URL at a time: ${rest.join(" ")} is too much`);
}

/** A URL may be that of a document or of an MCP server. Its name tells, or the attempt does. */
async function inspectUrl(url: string, timeout: number, at: Workplace): Promise<void> {
  const { options, interrupts } = at;
  const { pathname } = new URL(url);
  const isServer = options.has("mcp") || (/\/(mcp|sse)\/?$/.test(pathname) && !options.has("openapi"));
  const server: MCPClientConfig = { url, connectTimeout: timeout };
  if (isServer) return inspectServer(server, at);
  let imported: ImportedService;
  try {
    imported = await interrupts.during(importUrl(url, { namespace: NAME, timeout }));
  } catch (error) {
    if (options.has("openapi") || /\.(json|ya?ml)$/i.test(pathname) || !(error instanceof CallError))
      throw error;
    try {
      return await inspectServer(server, at);
    } catch (other) {
      throw failed(
        `It is neither an OpenAPI document (${error.message}) nor an MCP server (${messageOf(other)})`,
      );
    }
  }
  await showDocument(imported, at);
}

const MARKS = { imported: "ok", degraded: "degraded", skipped: "skipped" } as const;

async function showDocument(
  { report, operations, security, service }: ImportedService,
  at: Workplace,
): Promise<void> {
  const { terminal, options, progress } = at;
  progress.clear();
  service.close();
  const count = (status: OpenAPIReportEntry["status"]) =>
    report.filter((entry) => entry.status === status).length;
  const totals = { imported: count("imported"), degraded: count("degraded"), skipped: count("skipped") };
  const shown = options.has("problems") ? report.filter(({ status }) => status !== "imported") : report;
  if (terminal.isJson) {
    const types = new Map(operations.map((operation) => [operation.name, operation]));
    await terminal.printJson({
      kind: "openapi",
      totals,
      security,
      operations: shown.map((entry) => ({ ...entry, ...typeOf(types.get(entry.name ?? "")) })),
    });
    return;
  }
  const rows = shown.map(({ status, name = "", method = "", path, problems }) => [
    MARKS[status],
    name,
    method,
    path,
    problems.map(({ reason }) => reason).join("; "),
  ]);
  if (rows.length > 0) {
    await terminal.print(table(["STATUS", "NAME", "METHOD", "PATH", "PROBLEMS"], rows, terminal.width));
  }
  if (security.length > 0) {
    const asked = security.map((each) => [
      each.scheme,
      [each.type, each.httpScheme, each.in, each.name].filter(Boolean).join(" "),
      String(each.operations),
      each.isAnswered ? "yes" : "no",
    ]);
    await terminal.print(table(["CREDENTIALS", "TYPE", "OPERATIONS", "CONFIGURED"], asked, terminal.width));
  }
  await terminal.print(
    `${counted(report.length, "operation")}: ${totals.imported} imported, ${totals.degraded} degraded, ${totals.skipped} skipped`,
  );
}

function typeOf(operation: { type: string; description: string } | undefined): object {
  return operation === undefined ? {} : { type: operation.type, description: operation.description };
}

async function inspectServer(config: MCPClientConfig, at: Workplace): Promise<void> {
  const { interrupts, progress } = at;
  // A loader, because it also closes what is still connecting.
  const loader = new MCPClientLoader();
  try {
    const loading = loader.load({ mcpServers: { [NAME]: config } }, { partial: true });
    const { wrappers, failures } = await interrupts.during(loading);
    if (failures[0] !== undefined) throw failures[0].error;
    await showServer(wrappers[0] as MCPClientWrapper, at);
  } finally {
    progress.clear();
    await loader.closeAll();
  }
}

async function showServer(
  server: MCPClientWrapper,
  { terminal, options, progress, interrupts }: Workplace,
): Promise<void> {
  const { client, tools, problems } = server;
  const listed = async <T>(capability: string, list: () => Promise<T[]>): Promise<T[]> =>
    Object.hasOwn(client.capabilities, capability) ? list().catch(() => []) : [];
  const resources = await interrupts.during(listed("resources", () => server.listResources()));
  const prompts = await interrupts.during(listed("prompts", () => server.listPrompts()));
  progress.clear();
  const { name = "", version = "" } = client.serverInfo;
  if (terminal.isJson) {
    await terminal.printJson({
      kind: "mcp",
      server: client.serverInfo,
      protocolVersion: client.protocolVersion,
      ...(client.instructions !== undefined && { instructions: client.instructions }),
      tools: options.has("problems")
        ? []
        : tools.map((tool) => ({ name: tool.name, description: tool.description })),
      resources,
      prompts,
      problems,
    });
    return;
  }
  await terminal.print(`${name} ${version}, MCP ${client.protocolVersion ?? ""}`.trim());
  const rows = tools.map((tool) => [tool.name, summaryOf(tool)]);
  if (rows.length > 0 && !options.has("problems")) {
    await terminal.print(table(["TOOL", "WHAT IT DOES"], rows, terminal.width));
  }
  if (problems.length > 0) {
    const found = problems.map(({ tool, field, reason }) => [tool, field, reason]);
    await terminal.print(table(["PROBLEM WITH", "FIELD", "REASON"], found, terminal.width));
  }
  await terminal.print(
    `${tools.length} tools, ${resources.length} resources, ${prompts.length} prompts, ${problems.length} problems`,
  );
}
