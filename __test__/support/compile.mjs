// Compiles modules that exist only as texts, the way a strict user's project does.

import { fileURLToPath } from "node:url";
import ts from "typescript";

export const root = fileURLToPath(new URL("../../", import.meta.url));

export const options = {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2022,
  lib: ["lib.es2023.d.ts"],
  types: ["node"],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  skipLibCheck: true,
};

/**
 * @param {Map<string, string>} modules texts by name; they find the package, and its dependencies, by public names
 * @returns {string[]} what the compiler has to say: `<name>(<line>): <message>`
 */
export function problemsIn(modules) {
  return problemsOf(programOf(modules));
}

/** What an editor shows of each export of a module, which must compile. */
export function shownTypes(text) {
  const program = programOf(new Map([["shown", text]]));
  const problems = problemsOf(program);
  if (problems.length > 0) throw new Error(problems.join("\n"));
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(`${root}__test__/types/shown.mts`));
  const shown = (symbol) =>
    checker.typeToString(checker.getTypeOfSymbol(symbol), undefined, ts.TypeFormatFlags.NoTruncation);
  return Object.fromEntries(checker.getExportsOfModule(module).map((symbol) => [symbol.name, shown(symbol)]));
}

function programOf(modules) {
  const sources = new Map(Array.from(modules, ([name, text]) => [`${root}__test__/types/${name}.mts`, text]));
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (file) => sources.has(file) || fileExists(file);
  host.readFile = (file) => sources.get(file) ?? readFile(file);
  host.getSourceFile = (file, ...rest) =>
    sources.has(file)
      ? ts.createSourceFile(file, sources.get(file), {
          languageVersion: options.target,
          impliedNodeFormat: ts.ModuleKind.ESNext,
        })
      : getSourceFile(file, ...rest);
  return ts.createProgram([...sources.keys()], options, host);
}

function problemsOf(program) {
  return ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
    const name = file?.fileName.replace(/.*\/|\.mts$/g, "");
    const line = file && ts.getLineAndCharacterOfPosition(file, start).line + 1;
    return `${name}(${line}): ${ts.flattenDiagnosticMessageText(messageText, " ")}`;
  });
}
