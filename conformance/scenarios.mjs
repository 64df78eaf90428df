// What both clients, ours and the one that we compare with, know about the scenarios.

export const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
export const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
export const serverUrl = process.argv.at(-1);

/** The address of the client's metadata that the suite knows. */
export const METADATA_URL = "https://conformance-test.local/client-metadata.json";

/** Scenarios in which a client must not go on. */
export const MUST_REFUSE = new Set([
  "auth/scope-retry-limit",
  "auth/resource-mismatch",
  "auth/iss-supported-missing",
  "auth/iss-wrong-issuer",
  "auth/iss-unexpected",
  "auth/iss-normalized",
  "auth/metadata-issuer-mismatch",
]);

/** The user: agrees, and tells where the browser was sent. */
export async function visit({ url }) {
  const response = await fetch(url, { redirect: "manual" });
  const location = response.headers.get("location");
  if (location === null) throw new Error(`the page did not lead back: HTTP ${response.status}`);
  return location;
}

/** The calls to make: those that the suite asks for, else one of each tool. */
export function argumentsFor(tools) {
  if (context.toolCalls !== undefined) return context.toolCalls;
  // Its server lists a tool that cannot be called.
  if (scenario === "json-schema-ref-no-deref") return [];
  if (scenario === "json-schema-2020-12-preservation") {
    const [described, echo] = tools;
    return [{ name: echo.name, arguments: { schema: described.inputSchema } }];
  }
  return tools.map(({ name, inputSchema }) => ({ name, arguments: sample(inputSchema) }));
}

/** A value for each property. */
function sample({ properties = {} } = {}) {
  const values = { number: 2.5, integer: 2, boolean: true, object: {}, array: [], null: null };
  return Object.fromEntries(
    Object.entries(properties).map(([name, { type }]) => [name, type in values ? values[type] : "text"]),
  );
}
