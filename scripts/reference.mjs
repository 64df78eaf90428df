// npm run reference: a page for every exported name, made by TypeDoc from the declarations, in target/reference/. With
// --check nothing is written. A warning is a failure. Types that only help others, and are not exported, have no page.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ensureDeclarations, ensureInstalled, isMain, root } from "./lib.mjs";

/** Makes the reference. Returns how many names it has, or throws with what TypeDoc complains about. */
export async function makeReference({ check = false, folder = join(root, "target", "reference") } = {}) {
  const { Application, LogLevel, ReflectionKind } = await import("typedoc");
  const { exports, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  // The main entry first. The paths that export the same objects would only repeat it.
  const entries = Object.entries(exports)
    .filter(([path, conditions]) => typeof conditions !== "string" && !path.startsWith("./from-"))
    .map(([, { types }]) => join(root, types.require));
  const app = await Application.bootstrap({
    name: `@alkdev/operations ${version}`,
    entryPoints: entries,
    tsconfig: join(root, "scripts", "reference.tsconfig.json"),
    readme: "none",
    basePath: root,
    displayBasePath: root,
    disableSources: true,
    excludePrivate: true,
    excludeInternal: true,
    excludeExternals: false,
    sort: ["source-order"],
    validation: { notExported: false, invalidLink: true, notDocumented: false },
    treatWarningsAsErrors: true,
    logLevel: LogLevel.Warn,
    hideGenerator: true,
  });
  const project = await app.convert();
  if (project !== undefined) app.validate(project);
  if (project === undefined || app.logger.hasErrors() || app.logger.hasWarnings()) {
    throw new Error(`TypeDoc has ${app.logger.errorCount} errors and ${app.logger.warningCount} warnings`);
  }
  if (!check) await app.generateDocs(project, folder);
  return project.getReflectionsByKind(ReflectionKind.All).filter(({ parent }) => parent?.parent === project)
    .length;
}

if (isMain(import.meta.url)) {
  const check = process.argv.includes("--check");
  ensureInstalled();
  ensureDeclarations();
  const count = await makeReference({ check });
  const page = pathToFileURL(join(root, "target", "reference", "index.html")).href;
  console.log(check ? `The reference of ${count} names is fine.` : `${count} names: ${page}`);
}
