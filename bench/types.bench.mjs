// How long the compiler takes over 300 typed operations: their schemas alone, then the operations, a registry of them, a call of
// each, and an environment. Each row is a program of its own that holds what the rows above it hold. The first row is
// what TypeBox itself takes for as much: the schemas, a function for each pair whose types are written with `Static`, and two calls of it.
// Nothing that knows the types of these operations can take less. What the last row has above it is the share of this package.
//
//   npm run bench -- types
//   npm run bench -- types path/to/another/typescript

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../scripts/lib.mjs";
import { printTable } from "./support.mjs";

const OPERATIONS = 300;
const NAMESPACES = 12;

const numbers = Array.from({ length: OPERATIONS }, (_, n) => n);
const namespaceOf = (n) => `area${n % NAMESPACES}`;
const inputOf = (n) => `{ id${n}: "x", tags: [] }`;

const stages = {
  schemas: [
    'import { Type } from "@sinclair/typebox";',
    ...numbers.map(
      (n) => `export const i${n} = Type.Object({
  id${n}: Type.String(), count: Type.Optional(Type.Integer()), tags: Type.Array(Type.String()),
});
export const o${n} = Type.Object({
  ok${n}: Type.Boolean(), nested: Type.Object({ at: Type.Number(), by: Type.Union([Type.String(), Type.Null()]) }),
});`,
    ),
  ],
  "+ operations": [
    'import { buildEnv, createRegistry, defineOperation } from "@alkdev/operations";',
    'const rest = { version: "1", description: "", accessControl: { requiredScopes: [] } };',
    "void [buildEnv, createRegistry];",
    ...numbers.map(
      (n) => `export const d${n} = defineOperation({
  ...rest, namespace: "${namespaceOf(n)}", name: "do${n}", type: "${n % 3 === 0 ? "mutation" : "query"}",
  inputSchema: i${n}, outputSchema: o${n},
  handler: (input) => ({ ok${n}: input.id${n} !== "", nested: { at: 1, by: null } }),
});`,
    ),
  ],
  "+ createRegistry": [`export const registry = createRegistry([${numbers.map((n) => `d${n}`)}]);`],
  "+ a call of each": numbers.map(
    (n) =>
      `export const c${n}: Promise<boolean> = registry.execute("${namespaceOf(n)}.do${n}", ${inputOf(n)}).then(({ data }) => data.ok${n});`,
  ),
  "+ env": [
    "const env = buildEnv({ registry, context: {} });",
    ...numbers.map(
      (n) =>
        `export const e${n}: Promise<boolean> = env.${namespaceOf(n)}.do${n}(${inputOf(n)}).then(({ data }) => data.ok${n});`,
    ),
  ],
};

/** The same handlers, and two calls of each, without this package. */
const plain = [
  'import type { Static } from "@sinclair/typebox";',
  ...numbers.map(
    (
      n,
    ) => `export const h${n} = async (input: Static<typeof i${n}>): Promise<{ data: Static<typeof o${n}> }> =>
  ({ data: { ok${n}: input.id${n} !== "", nested: { at: 1, by: null } } });`,
  ),
  ...["c", "e"].flatMap((name) =>
    numbers.map(
      (n) =>
        `export const ${name}${n}: Promise<boolean> = h${n}(${inputOf(n)}).then(({ data }) => data.ok${n});`,
    ),
  ),
];

const typescript = process.argv[2] ?? join(root, "node_modules/typescript");
const { version } = JSON.parse(readFileSync(join(typescript, "package.json"), "utf8"));
const target = join(root, "target");
mkdirSync(target, { recursive: true });
// Inside the project, so that its own name and its libraries are found.
const folder = mkdtempSync(join(target, "types-"));
try {
  console.log(
    `${OPERATIONS} typed operations in ${NAMESPACES} namespaces, TypeScript ${version}, --extendedDiagnostics`,
  );
  let source = "";
  const typeBox = compile([...stages.schemas, ...plain].join("\n"));
  const rows = [["TypeBox alone", typeBox]];
  for (const [label, lines] of Object.entries(stages)) {
    source += `${lines.join("\n")}\n`;
    rows.push([label, compile(source)]);
  }
  const [, all] = rows.at(-1);
  rows.push(["TypeBox's share", typeBox.map((cost, i) => `${((100 * cost) / all[i]).toFixed(0)} %`)]);
  rows.push(["our share", typeBox.map((cost, i) => `${(100 - (100 * cost) / all[i]).toFixed(0)} %`)]);
  printTable(
    ["", "check, s", "total, s", "types", "instantiations"],
    rows.map(([label, costs]) => [label, ...costs.map(String)]),
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** What the compiler tells about itself. The least of three runs: what else the machine does then counts little. */
function compile(source) {
  const file = join(folder, "program.mts");
  writeFileSync(file, source);
  const runs = Array.from({ length: 3 }, () => diagnostics(file));
  return runs[0].map((_, i) => Math.min(...runs.map((run) => run[i])));
}

function diagnostics(file) {
  const flags =
    "--noEmit --extendedDiagnostics --strict --skipLibCheck --target es2022 --module nodenext --types node";
  const { stdout, status } = spawnSync(
    process.execPath,
    [join(typescript, "bin/tsc"), ...flags.split(" "), file],
    { cwd: root, encoding: "utf8" },
  );
  if (status !== 0) throw new Error(stdout.slice(0, 4000));
  return ["Check time", "Total time", "Types", "Instantiations"].map((name) =>
    Number.parseFloat(new RegExp(`^${name}:\\s+(\\S+)`, "m").exec(stdout)?.[1] ?? "NaN"),
  );
}
