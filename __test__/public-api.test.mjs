// index.d.ts is a hand-written table of contents: it and the implementation list the same names.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import * as operations from "@alkdev/operations";
import ts from "typescript";

const pathOf = (relative) => fileURLToPath(new URL(relative, import.meta.url));

function exportsOf(file) {
  const program = ts.createProgram([file], {
    module: ts.ModuleKind.Node16,
    moduleResolution: ts.ModuleResolutionKind.Node16,
  });
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(file));
  return checker.getExportsOfModule(module).map((symbol) => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    return { name: symbol.name, isValue: (target.flags & ts.SymbolFlags.Value) !== 0 };
  });
}

const names = (list) => list.map(({ name }) => name).sort();

describe("the declared API", () => {
  const declared = exportsOf(pathOf("../index.d.ts"));

  it("the declared API is that of the facade, types included", () => {
    assert.deepEqual(names(declared), names(exportsOf(pathOf("../dist/index.d.ts"))));
  });

  it("the declared API is what can be imported at run time", () => {
    assert.deepEqual(names(declared.filter(({ isValue }) => isValue)), Object.keys(operations).sort());
  });
});
