// A call as a program: a command for a terminal, and a few lines of TypeScript and Python. No DOM: tested without a browser.

import { isRecord } from "./schema-root.mjs";

/** A call to write down. */
export interface Sample {
  readonly namespace: string;
  readonly name: string;
  /** The address of the operation, and that of the HTTP door above it. */
  readonly url: string;
  readonly door: string;
  /** The input as JSON; `undefined` for no input. */
  readonly body: string | undefined;
  readonly isStream: boolean;
  readonly hasToken: boolean;
}

/** The languages, in the order of their tabs. The token is left to the environment: what is pasted ends up in histories. */
export const LANGUAGES: readonly { readonly label: string; readonly write: (sample: Sample) => string }[] = [
  { label: "curl", write: curl },
  { label: "TypeScript", write: typescript },
  { label: "Python", write: python },
];

/** The page knows what is in a file, and not where it is. */
const FILE = "path/to/file";

export function curl({ url, body, isStream, hasToken }: Sample): string {
  const parts = [`curl ${isStream ? "-N " : ""}-X POST ${quoted(url)}`];
  if (hasToken) parts.push('-H "Authorization: Bearer $TOKEN"');
  if (isStream) parts.push("-H 'Accept: text/event-stream'");
  const form = body === undefined ? undefined : formParts(JSON.parse(body));
  if (form !== undefined) parts.push(...form);
  else if (body !== undefined) parts.push("-H 'Content-Type: application/json'", `-d ${quoted(body)}`);
  return parts.join(" \\\n  ");
}

/** An input with files as the parts of a form; `undefined` where it has no file, or something that a form cannot hold. */
function formParts(input: unknown): string[] | undefined {
  if (!isRecord(input) || !Object.values(input).flat().some(isFile)) return undefined;
  const parts: string[] = [];
  for (const [name, value] of Object.entries(input)) {
    const values = Array.isArray(value) ? value : [value];
    if (!/^[\w.-]+$/.test(name) || values.length === 0) return undefined;
    for (const each of values) {
      if (each === null || Array.isArray(each)) return undefined;
      const text = typeof each === "string" ? each : JSON.stringify(each);
      parts.push(isFile(each) ? `-F '${name}=@${FILE}'` : `--form-string ${quoted(`${name}=${text}`)}`);
    }
  }
  return parts;
}

export function typescript({ namespace, name, door, body, isStream, hasToken }: Sample): string {
  const { origin, pathname } = new URL(door);
  const path = pathname.replace(/\/$/, "");
  const options = [
    path === "/api" ? "" : `path: ${JSON.stringify(path)}`,
    hasToken ? "token: () => process.env.TOKEN" : "",
  ].filter((option) => option !== "");
  const input = body === undefined ? "undefined" : literal(JSON.parse(body), TYPESCRIPT);
  const id = JSON.stringify(`${namespace}.${name}`);
  const isPlain = isName(namespace) && isName(name) && namespace !== "then" && name !== "then";
  const call = isPlain ? `client.${namespace}.${name}(${input})` : `client.$call(${id}, ${input})`;
  return [
    input.includes("readFile(") && 'import { readFile } from "node:fs/promises";',
    'import { createClient } from "@alkdev/operations/client";',
    'import type { registry } from "./server.mjs"; // the registry that is served here',
    "",
    `const client = createClient<typeof registry>(${JSON.stringify(origin)}${
      options.length === 0 ? "" : `, { ${options.join(", ")} }`
    });`,
    isStream
      ? `for await (const { data } of client.$subscribe(${id}, ${input})) console.log(data);`
      : `const { data } = await ${call};\nconsole.log(data);`,
  ]
    .filter((line) => line !== false)
    .join("\n");
}

export function python({ url, body, isStream, hasToken }: Sample): string {
  const input = body === undefined ? undefined : literal(JSON.parse(body), PYTHON);
  const headers = [
    input !== undefined && '"Content-Type": "application/json"',
    hasToken && `"Authorization": f"Bearer {os.environ['TOKEN']}"`,
    isStream && '"Accept": "text/event-stream"',
  ].filter((header) => header !== false);
  return [
    input?.includes("b64encode(") && "from base64 import b64encode",
    (input !== undefined || isStream) && "import json",
    hasToken && "import os",
    "import urllib.request",
    "",
    input !== undefined && `call = ${input}`,
    "request = urllib.request.Request(",
    `    ${JSON.stringify(url)},`,
    '    method="POST",',
    input !== undefined && "    data=json.dumps(call).encode(),",
    headers.length > 0 && `    headers={${headers.join(", ")}},`,
    ")",
    "with urllib.request.urlopen(request) as response:",
    ...(isStream
      ? [
          "    for line in response:",
          '        if line.startswith(b"data:"):',
          "            print(json.loads(line[5:]))",
        ]
      : ["    print(response.read().decode())"]),
  ]
    .filter((line) => line !== false && line !== undefined)
    .join("\n");
}

/** How a language writes values that are not JSON to it. */
interface Notation {
  readonly words: Readonly<Record<string, string>>;
  readonly key: (name: string) => string;
  readonly file: string;
  readonly indent: string;
}

const TYPESCRIPT: Notation = {
  words: {},
  // As a plain name, this one would set the prototype.
  key: (name) => (name === "__proto__" ? '["__proto__"]' : isName(name) ? name : JSON.stringify(name)),
  file: `await readFile("${FILE}")`,
  indent: "  ",
};

const PYTHON: Notation = {
  words: { null: "None", true: "True", false: "False" },
  key: (name) => JSON.stringify(name),
  file: `{"$bytes": b64encode(open("${FILE}", "rb").read()).decode()}`,
  indent: "    ",
};

/** Values that are shorter than this are written in one line. */
const SHORT = 72;

function literal(value: unknown, notation: Notation, before = ""): string {
  if (isFile(value)) return notation.file;
  if (typeof value !== "object" || value === null) {
    const text = JSON.stringify(value);
    return notation.words[text] ?? text;
  }
  const inner = before + notation.indent;
  const parts = Array.isArray(value)
    ? value.map((each) => literal(each, notation, inner))
    : Object.entries(value).map(([name, each]) => `${notation.key(name)}: ${literal(each, notation, inner)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const line = parts.join(", ");
  if (parts.length === 0) return `${open}${close}`;
  if (line.length <= SHORT && !line.includes("\n")) {
    const space = notation === TYPESCRIPT && !Array.isArray(value) ? " " : "";
    return `${open}${space}${line}${space}${close}`;
  }
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join("")}${before}${close}`;
}

const isFile = (value: unknown): boolean =>
  isRecord(value) && typeof value.$bytes === "string" && Object.keys(value).length === 1;

const isName = (text: string): boolean => /^[A-Za-z_$][\w$]*$/.test(text);

/** A text that a shell takes as it is. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
