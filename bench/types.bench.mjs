// How long the compiler takes over 300 typed operations: their schemas alone, then the operations, a registry of them, a call of
// each, and an environment. Each row is a program of its own that holds what the rows above it hold. The row "Static" is
// what TypeBox itself takes for as much: the schemas, and a function for each whose types are written with `Static`. Nothing
// that knows the types of these operations can take less.
//
//   npm run bench -- types

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
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

/** The same handlers without this package. */
const plain = [
  'import type { Static } from "@sinclair/typebox";',
  ...numbers.map(
    (n) => `export const h${n} = (input: Static<typeof i${n}>): Static<typeof o${n}> =>
  ({ ok${n}: input.id${n} !== "", nested: { at: 1, by: null } });`,
  ),
];

const target = join(root, "target");
mkdirSync(target, { recursive: true });
// Inside the project, so that its own name and its libraries are found.
const folder = mkdtempSync(join(target, "types-"));
try {
  console.log(`${OPERATIONS} typed operations in ${NAMESPACES} namespaces, tsc --extendedDiagnostics`);
  let source = "";
  const rows = [["schemas, Static", ...compile([...stages.schemas, ...plain].join("\n"))]];
  for (const [label, lines] of Object.entries(stages)) {
    source += `${lines.join("\n")}\n`;
    rows.push([label, ...compile(source)]);
  }
  printTable(["", "check", "total", "types", "instantiations"], rows);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** What the compiler tells about itself. */
function compile(source) {
  const file = join(folder, "program.mts");
  writeFileSync(file, source);
  const flags =
    "--noEmit --extendedDiagnostics --strict --skipLibCheck --target es2022 --module nodenext --types node";
  const { stdout, status } = spawnSync(
    process.execPath,
    [join(root, "node_modules/typescript/bin/tsc"), ...flags.split(" "), file],
    { cwd: root, encoding: "utf8" },
  );
  if (status !== 0) throw new Error(stdout.slice(0, 4000));
  return ["Check time", "Total time", "Types", "Instantiations"].map(
    (name) => new RegExp(`^${name}:\\s+(\\S+)`, "m").exec(stdout)?.[1] ?? "?",
  );
}
