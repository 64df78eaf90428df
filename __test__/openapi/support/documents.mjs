// Small documents to test with, and the real ones that come from npm.

import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
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

const require = createRequire(import.meta.url);
const nodeModules = join(dirname(fileURLToPath(import.meta.url)), "../../../node_modules");

const kubernetes = () =>
  gunzipSync(readFileSync(join(nodeModules, "kubernetes-client/lib/specs/swagger-1.13.json.gz"))).toString();

const read = (path) => () => readFileSync(join(nodeModules, path), "utf8");

/** The examples of `@readme/oas-examples`, both notations. */
function examples() {
  const folder = join(nodeModules, "@readme/oas-examples");
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => /^[23]\.[0-9][\\/].*\.(json|yaml)$/.test(file))
    .sort()
    .map((file) => ({
      name: `@readme/oas-examples/${file}`,
      text: read(join("@readme/oas-examples", file)),
    }));
}

/** Real documents: name, a function that reads the text, and how many operations they have. */
export const realDocuments = [
  {
    name: "@octokit/openapi api.github.com.json",
    text: () => readFileSync(require.resolve("@octokit/openapi/generated/api.github.com.json"), "utf8"),
    operations: 1223,
  },
  { name: "@gitbook/api openapi.json", text: read("@gitbook/api/spec/openapi.json"), operations: 377 },
  { name: "@gitbook/api openapi.yaml", text: read("@gitbook/api/spec/openapi.yaml"), operations: 377 },
  { name: "@figma/rest-api-spec", text: read("@figma/rest-api-spec/openapi/openapi.yaml"), operations: 54 },
  { name: "@netlify/open-api", text: read("@netlify/open-api/dist/swagger.json"), operations: 181 },
  { name: "kubernetes-client", text: kubernetes },
  ...examples(),
];
