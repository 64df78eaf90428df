// A hub with the servers that its parent names, which does what its parent says.

import { MCPClientLoader, OperationRegistry } from "@alkdev/operations";

const loader = new MCPClientLoader();
const registry = new OperationRegistry();

const commands = {
  async load(servers) {
    const begun = performance.now();
    const { failures } = await loader.load(servers, { partial: true });
    loader.registerAll(registry, { keepInStep: true });
    const ms = Math.round(performance.now() - begun);
    return { ms, failures: failures.map(({ error }) => error.message), operations: registry.list().length };
  },
  async call({ id, input = {} }) {
    const { meta } = await registry.execute(id, input, {});
    return meta.isError;
  },
  status: () =>
    Object.fromEntries(Object.entries(loader.status()).map(([name, { status }]) => [name, status])),
  pids: () => Object.fromEntries(Object.entries(loader.getStatus()).map(([name, { pid }]) => [name, pid])),
  ids: () => registry.list().map(({ namespace, name }) => `${namespace}.${name}`),
  restart: (name) => loader.restart(name),
  async close() {
    await loader.closeAll();
    setImmediate(() => process.disconnect());
  },
};

process.on("message", async ({ number, command, value }) => {
  try {
    process.send({ number, result: await commands[command](value) });
  } catch ({ code, message }) {
    process.send({ number, error: `${code}: ${message}` });
  }
});
