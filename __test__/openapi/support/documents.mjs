// Small documents to test with, and the real ones that come from npm.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { FromOpenAPI, inspectOpenAPI } from "@alkdev/operations";

/** A document with these members and the usual ones. */
export const documentOf = (members) => ({
  openapi: "3.0.3",
  info: { title: "t", version: "1.2.3" },
  paths: {},
  ...members,
});

/** The operations of a document with these paths. */
export const fromPaths = (paths, config = {}) =>
  FromOpenAPI(documentOf({ paths }), { namespace: "t", ...config });

/** The one operation of a document that has one. */
export function only(members, config = {}) {
  const found = FromOpenAPI(documentOf(members), { namespace: "t", ...config });
  if (found.length !== 1) throw new Error(`expected one operation, found ${found.length}`);
  return found[0];
}

export const namesOf = (operations) => operations.map(({ name }) => name);

/** A schema as anyone but TypeBox sees it. */
export const plain = (schema) => JSON.parse(JSON.stringify(schema));

export const inspect = (members, config = {}) =>
  inspectOpenAPI(documentOf(members), { namespace: "t", ...config });

/** A JSON response with this schema. */
export const answering = (schema, type = "application/json") => ({
  responses: { 200: { description: "", content: { [type]: { schema } } } },
});

const nodeModules = join(dirname(fileURLToPath(import.meta.url)), "../../../node_modules");

const kubernetes = () =>
  gunzipSync(readFileSync(join(nodeModules, "kubernetes-client/lib/specs/swagger-1.13.json.gz"))).toString();

/** A file of a package, for those who want its text and for those who want its path. */
function file(...steps) {
  const path = join(nodeModules, ...steps);
  return { path, text: () => readFileSync(path, "utf8") };
}

/** The examples of `@readme/oas-examples`, both notations. */
function examples() {
  const folder = join(nodeModules, "@readme/oas-examples");
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /^[23]\.[0-9][\\/].*\.(json|yaml)$/.test(name))
    .sort()
    .map((name) => ({ name: `@readme/oas-examples/${name}`, ...file("@readme/oas-examples", name) }));
}

/** Real documents: the text, the path where there is one, and how many operations they have. */
export const realDocuments = [
  {
    name: "@octokit/openapi api.github.com.json",
    ...file("@octokit/openapi/generated/api.github.com.json"),
    operations: 1223,
  },
  { name: "@gitbook/api openapi.json", ...file("@gitbook/api/spec/openapi.json"), operations: 377 },
  { name: "@gitbook/api openapi.yaml", ...file("@gitbook/api/spec/openapi.yaml"), operations: 377 },
  { name: "@figma/rest-api-spec", ...file("@figma/rest-api-spec/openapi/openapi.yaml"), operations: 54 },
  { name: "@netlify/open-api", ...file("@netlify/open-api/dist/swagger.json"), operations: 181 },
  { name: "kubernetes-client", text: kubernetes },
  ...examples(),
];
