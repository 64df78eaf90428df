import { spawn } from "node:child_process";
import { CallError } from "../../errors.js";
import { MCPClientLoader } from "../../mcp/loader.js";
import type { HTTPOAuth, HTTPServiceConfig } from "../../openapi/config.js";
import { importFile } from "../../openapi/file.js";
import { importUrl } from "../../openapi/url.js";
import type { Source } from "../config/source.js";
import { configError, usageError } from "../exit-codes.js";
import { configFor } from "../hub.js";
import type { Workplace } from "../perform.js";

type Page = Parameters<NonNullable<HTTPOAuth["onAuthorize"]>>[0];

/** Has the user log in to a source, and stores the tokens where `serve` and `call` find them. */
export async function loginCommand(at: Workplace): Promise<undefined> {
  const { words, options, terminal, interrupts } = at;
  const [name = ""] = words;
  const config = await configFor(at);
  const source = config.sources.find((each) => each.name === name);
  if (source === undefined) {
    const names = config.sources.map((each) => each.name).join(", ");
    throw usageError(`There is no source ${name} in ${config.file}. It has ${names || "none"}`);
  }
  const onAuthorize = ({ url, userCode }: Page): void => {
    const code = userCode === undefined ? "" : ` and enter the code ${userCode}`;
    terminal.complain(`Open this page in a browser${code}: ${url}`);
    if (userCode === undefined && !options.has("no-browser")) openBrowser(url);
  };
  const work =
    source.kind === "mcp" ? loginToServer(source, at, onAuthorize) : loginToService(source, at, onAuthorize);
  await interrupts.during(work);
  if (terminal.isJson) await terminal.printJson({ source: name, loggedIn: true });
  else await terminal.print(`Logged in to ${name}`);
  return undefined;
}

async function loginToService(
  source: Extract<Source, { kind: "openapi" }>,
  { options, interrupts }: Workplace,
  onAuthorize: (page: Page) => void,
): Promise<void> {
  const { document, settings } = source.config();
  const { auth } = settings as Pick<HTTPServiceConfig, "auth">;
  if (typeof auth !== "object" || auth.type !== "oauth2" || auth.grant !== "authorization_code") {
    throw configError(
      `${source.name} needs no login: its \`auth\` does not have the grant authorization_code`,
    );
  }
  // A document that is behind the login has it happen before its operations are there.
  let isAsked = false;
  const asking = (page: Page): void => {
    isAsked = true;
    onAuthorize(page);
  };
  const interactive: HTTPServiceConfig = { ...settings, auth: { ...auth, onAuthorize: asking } };
  const isUrl = /^https?:\/\//i.test(document);
  const { service } = await (isUrl ? importUrl : importFile)(document, interactive);
  try {
    if (!isAsked) await service.login(options.has("device"), interrupts.signal);
  } finally {
    service.close();
  }
}

async function loginToServer(
  source: Extract<Source, { kind: "mcp" }>,
  { options }: Workplace,
  onAuthorize: (page: Page) => void,
): Promise<void> {
  const { name } = source;
  const config = source.config();
  if (config.oauth === undefined || config.url === undefined) {
    throw configError(`${name} needs no login: it has no \`oauth\`, such as \`oauth: {}\``);
  }
  if (options.has("device")) throw usageError("--device is for OpenAPI sources");
  const loader = new MCPClientLoader();
  try {
    let isAsked = false;
    const asking = (page: Page): void => {
      isAsked = true;
      onAuthorize(page);
    };
    const oauth = { ...config.oauth, onAuthorize: asking } as NonNullable<typeof config.oauth>;
    const { failures } = await loader.load(
      { mcpServers: { [name]: { ...config, oauth } } },
      { partial: true },
    );
    if (failures[0]?.error instanceof CallError) throw failures[0].error;
    if (!isAsked) await loader.authorize(name);
  } finally {
    await loader.closeAll();
  }
}

/** Where there is no browser, the user has the address. */
function openBrowser(url: string): void {
  const [command, ...args] =
    process.platform === "darwin"
      ? ["open"]
      : process.platform === "win32"
        ? ["rundll32", "url.dll,FileProtocolHandler"]
        : ["xdg-open"];
  const child = spawn(command as string, [...args, url], { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}
