// How the tests start servers, and make sure that none stays.

import { fileURLToPath } from "node:url";
import { closeMCPClient, createMCPClient, OperationRegistry } from "@alkdev/operations";
import { defer } from "./defer.mjs";

export { failureOf as failure } from "../../support/waiting.mjs";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** The configuration of the hand-made stdio server with these traits. */
export const stdio = (traits = [], more = {}) => ({
  command: process.execPath,
  args: [here("stdio-server.mjs"), ...traits],
  ...more,
});

/** The configuration of a server script of this folder. */
export const script = (name, more = {}) => ({ command: process.execPath, args: [here(name)], ...more });

/** The configuration of a server that is an npm package. */
export function packaged(name, args = [], more = {}) {
  const entry = fileURLToPath(
    new URL(`../../../node_modules/@modelcontextprotocol/${name}/dist/index.js`, import.meta.url),
  );
  return { command: process.execPath, args: [entry, ...args], ...more };
}

/** A client that is closed after the test, with a registry that holds its tools. */
export async function connected(test, config, name = "test") {
  const wrapper = await createMCPClient(name, config);
  defer(test, () => closeMCPClient(wrapper));
  const registry = new OperationRegistry();
  registry.registerAll(wrapper.tools);
  const call = (tool, input = {}, context = {}) => registry.execute(`${name}.${tool}`, input, context);
  /** For tools that put JSON into their only text block. */
  const ask = async (tool, input, context) => JSON.parse((await call(tool, input, context)).data[0].text);
  const tool = (wanted) => wrapper.tools.find((each) => each.name === wanted);
  return { wrapper, registry, call, ask, tool };
}
