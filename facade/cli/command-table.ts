// The commands and their options: what the parser, the help and the completion scripts know.

export interface Option {
  readonly name: string;
  readonly short?: string;
  /** What stands for its value in the help. An option without it is a switch. */
  readonly value?: string;
  readonly summary: string;
  /** The words that it takes, if they are few. */
  readonly choices?: readonly string[];
  /** Its value is a file, for completion. */
  readonly isFile?: true;
}

export interface Command {
  readonly name: string;
  readonly summary: string;
  /** What follows the name: `<id> [json]`. */
  readonly usage: string;
  /** How many arguments it takes. */
  readonly least: number;
  readonly most: number;
  readonly options: readonly Option[];
  readonly details?: readonly string[];
  readonly examples: readonly string[];
  /** The words that its argument can be, for completion. */
  readonly choices?: readonly string[];
}

export const TARGETS = ["openai", "openai-strict", "anthropic", "gemini", "mcp", "json-schema"] as const;
export const SHELLS = ["bash", "zsh", "fish"] as const;

export const GLOBAL_OPTIONS: readonly Option[] = [
  { name: "json", summary: "Print JSON, for programs" },
  { name: "quiet", short: "q", summary: "Print results and errors only" },
  { name: "verbose", summary: "Print the log of the package to standard error" },
  { name: "help", short: "h", summary: "Show help" },
  { name: "version", short: "V", summary: "Show the version" },
];

export const CONFIG: Option = {
  name: "config",
  short: "c",
  value: "<file>",
  isFile: true,
  summary: "The configuration (default: operations.yaml, .yml or .json here)",
};
const STRICT: Option = {
  name: "strict",
  summary: "Fail if a source cannot be loaded, or an access rule fits no operation",
};
const AS: Option = {
  name: "as",
  value: "<id>",
  summary: "Act as an identity of `tokens`, by its id (default: no identity)",
};

const ALL: readonly Command[] = [
  {
    name: "serve",
    summary: "Start a hub from a configuration file",
    usage: "[config]",
    least: 0,
    most: 1,
    options: [
      CONFIG,
      {
        name: "port",
        short: "p",
        value: "<number>",
        summary: "The port, instead of the one in the file (0: any free port)",
      },
      { name: "host", value: "<address>", summary: "The address, instead of the one in the file" },
      { name: "stdio", summary: "Serve MCP on standard input and output instead" },
      {
        name: "as",
        value: "<id>",
        summary: "With --stdio: the identity of the program that started this one",
      },
      { name: "check", summary: "Check the configuration and stop" },
      STRICT,
    ],
    examples: ["operations serve hub.yaml", "operations serve hub.yaml --port 0 --json"],
  },
  {
    name: "inspect",
    summary: "Show what an OpenAPI document or an MCP server offers",
    usage: "<document | url | command...>",
    least: 1,
    most: Number.POSITIVE_INFINITY,
    options: [
      {
        ...CONFIG,
        summary: "A configuration: the name of one of its OpenAPI sources stands for its document",
      },
      { name: "mcp", summary: "The URL is that of an MCP server" },
      { name: "openapi", summary: "The file or the URL is an OpenAPI document, whatever its name" },
      { name: "problems", summary: "Show only what was degraded or skipped" },
      { name: "timeout", value: "<ms>", summary: "How long it may take (default 30,000)" },
    ],
    details: [
      "A URL or a .json, .yaml or .yml file is read. Anything else is a command that starts an MCP server.",
      "Options of `operations` go before it: everything after it belongs to the command.",
    ],
    examples: [
      "operations inspect openapi.yaml",
      "operations inspect https://pets.example/openapi.json --json",
      "operations inspect --json npx -y @modelcontextprotocol/server-memory",
    ],
  },
  {
    name: "list",
    summary: "List the operations",
    usage: "[pattern...]",
    least: 0,
    most: Number.POSITIVE_INFINITY,
    options: [CONFIG, AS, STRICT],
    details: ["A pattern is an id or has a star: files.*"],
    examples: ["operations list", "operations list 'files.*' --json"],
  },
  {
    name: "describe",
    summary: "Show an operation: its types, its rules and the schema of its input",
    usage: "<id>",
    least: 1,
    most: 1,
    options: [CONFIG, AS],
    details: ["With --json, the schema of the output too."],
    examples: ["operations describe files.read_file"],
  },
  {
    name: "call",
    summary: "Call an operation, or read a stream",
    usage: "<id> [json | @file | -]",
    least: 1,
    most: 2,
    options: [
      CONFIG,
      AS,
      { name: "trusted", summary: "Skip the access rules" },
      { name: "timeout", value: "<ms>", summary: "Time out after this many milliseconds" },
      { name: "limit", value: "<number>", summary: "Stop a stream after this many events" },
      { name: "approval", value: "<id>", summary: "The approval that was granted for this call" },
    ],
    details: [
      "The input is JSON; `@file` reads it from a file, `-` from standard input. Without one it is {}.",
      "Prints the data; with --json the whole envelope. The events of a stream are one line each.",
    ],
    examples: [
      `operations call pets.getPet '{"petId": 7}'`,
      "operations call logs.tail --limit 10 --json",
      "echo '{}' | operations call tasks.list -",
    ],
  },
  {
    name: "run",
    summary: "Run a program that calls operations, in a sandbox",
    usage: "<program.ts | -> [json | @file]",
    least: 1,
    most: 2,
    options: [
      CONFIG,
      AS,
      { name: "timeout", value: "<ms>", summary: "Time out after this many milliseconds" },
      { name: "store", value: "<folder>", summary: "Where a run that waits for an approval is stored" },
      { name: "resume", summary: "Continue a run of the store: its id stands in place of the program" },
      { name: "approve", summary: "Approve each call that needs it, and print it" },
    ],
    details: [
      "Needs the package quickjs-wasi. The program reads the JSON as `input`; what it writes to console goes to standard error.",
      "Prints the value of the program; with --json the whole run. A run that waits prints its id and its approvals, and ends with 1.",
    ],
    examples: [
      "operations run report.ts",
      "operations run --store runs --resume 6b1f4c6e-2f0a-4f3e-9d55-0c8a2f7b1f11",
    ],
  },
  {
    name: "login",
    summary: "Log in to a source with OAuth, in a browser or by a code for another device",
    usage: "<source>",
    least: 1,
    most: 1,
    options: [
      CONFIG,
      {
        name: "device",
        summary: "With a code that is entered on any device, where the server has such codes",
      },
      { name: "no-browser", summary: "Print the address of the page, and open no browser" },
    ],
    details: [
      "The source has `auth` with the grant authorization_code, or is an MCP server with `oauth`.",
      "The tokens are stored in a file that only you can read, where `serve` and `call` find them.",
    ],
    examples: ["operations login calendar", "operations login calendar --device"],
  },
  {
    name: "approvals",
    summary: "Show the calls that wait for an approval, and decide about them",
    usage: "[list | approve <id> | deny <id>]",
    least: 0,
    most: 2,
    options: [
      CONFIG,
      {
        name: "url",
        value: "<url>",
        summary: "The HTTP door of a hub, instead of the store of a configuration",
      },
      {
        name: "token",
        value: "<token>",
        summary: "With --url: your token (default: the variable OPERATIONS_TOKEN)",
      },
      { name: "as", value: "<id>", summary: "Decide as an identity of `tokens` (default: your user name)" },
      { name: "reason", value: "<text>", summary: "Why, for the requester" },
      { name: "all", summary: "List those that were decided, used or expired too" },
    ],
    choices: ["list", "approve", "deny"],
    details: ["Who can write to the store may decide; with --url, the hub says who may."],
    examples: [
      "operations approvals --url https://hub.example/api",
      "operations approvals approve 6b1f4c6e-2f0a-4f3e-9d55-0c8a2f7b1f11 --reason 'checked the path'",
    ],
  },
  {
    name: "search",
    summary: "Find operations in plain words",
    usage: "<words...>",
    least: 1,
    most: Number.POSITIVE_INFINITY,
    options: [CONFIG, AS, STRICT, { name: "limit", value: "<number>", summary: "How many (default 10)" }],
    examples: ["operations search merge a pull request"],
  },
  {
    name: "tools",
    summary: "Print the operations as tools of a model's API",
    usage: "[pattern...]",
    least: 0,
    most: Number.POSITIVE_INFINITY,
    options: [
      CONFIG,
      {
        name: "target",
        short: "t",
        value: "<target>",
        choices: TARGETS,
        summary: `Whose API: ${TARGETS.join(", ")}`,
      },
      AS,
      STRICT,
    ],
    details: ["Prints the list of tools as JSON. With --json an object, which has the losses too."],
    examples: ["operations tools --target anthropic 'files.*' > tools.json"],
  },
  {
    name: "types",
    summary: "Print the types of the operations, for TypeScript",
    usage: "[config]",
    least: 0,
    most: 1,
    options: [CONFIG, AS, STRICT],
    details: [
      "For createClient<Operations>(url), callMap.typed<Operations>() and OperationRegistry<Operations>.",
    ],
    examples: ["operations types hub.yaml > hub.d.ts"],
  },
  {
    name: "servers",
    summary: "Show how the MCP servers are: connected, stopped, failed, waiting for a login",
    usage: "[config]",
    least: 0,
    most: 1,
    options: [CONFIG],
    details: ["A lazy server whose tools are in its cache is not started for it."],
    examples: ["operations servers", "operations servers hub.yaml --json"],
  },
  {
    name: "completion",
    summary: "Print a completion script for a shell",
    usage: `<${SHELLS.join(" | ")}>`,
    least: 1,
    most: 1,
    options: [],
    choices: SHELLS,
    examples: ["source <(operations completion bash)", "operations completion fish | source"],
  },
];

export const COMMANDS: ReadonlyMap<string, Command> = new Map(ALL.map((command) => [command.name, command]));
