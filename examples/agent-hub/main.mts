// npm run hub: starts the hub, lets a model work for two people, and stays up. With --tour it ends after that.

import { type CallReport, createMCPClient, isAccessError, unwrap } from "@alkdev/operations";
import { ada, bob, startHub } from "./hub.mjs";
import { runModel, runProgram } from "./model.mjs";
import { joinHub } from "./spoke.mjs";

const say = (line: string) => console.log(line);
/** One line for every call, before its result. */
const trace = ({ operationId, identityId = "anonymous", code, source, duration }: CallReport) =>
  say(
    `  · ${operationId} by ${identityId}, ${code ?? "ok"}, source ${source ?? "none"}, ${duration.toFixed(1)} ms`,
  );

const isTour = process.argv.includes("--tour");
const hub = await startHub({ port: Number(process.env["PORT"] ?? 0), trace });
const { registry, url, tokens } = hub;
const namespaces = new Set(registry.list().map(({ namespace }) => namespace));
say(`${registry.list().length} operations in ${[...namespaces].join(", ")}`);
for (const { error } of hub.failures) say(`Left out: ${error.message}`);

say("\nThe program itself. The compiler knows tasks.add; the rules hold here too:");
const added = unwrap(await registry.execute("tasks.add", { title: " Sweep the shop " }, { identity: ada }));
say(`  tasks.add, as ada -> task ${added.id} by ${added.by}`);
await registry.execute("tasks.add", { title: "Sleep" }, { identity: bob }).catch((error: unknown) => {
  if (!isAccessError(error)) throw error;
  say(`  tasks.add, as bob -> ${error.message}`);
});

say("\nA model, for two people:");
await runModel(registry.untyped(), ada, say);
await runModel(registry.untyped(), bob, say);

say("\nA model that writes a program:");
await runProgram(registry.untyped(), bob, say);

say("\nOther programs, over HTTP:");
for (const name of ["ada", "bob"] as const) {
  const response = await fetch(`${url}/api/tasks/add`, {
    method: "POST",
    headers: { authorization: `Bearer ${tokens[name]}`, "content-type": "application/json" },
    body: JSON.stringify({ title: "Order food" }),
  });
  const { id, detail } = (await response.json()) as { id?: number; detail?: string };
  say(`  POST /api/tasks/add, as ${name} -> ${response.status} ${detail ?? `task ${id}`}`);
}

say("\nAnd over MCP:");
const client = await createMCPClient("hub", {
  url: `${url}/mcp`,
  headers: { authorization: `Bearer ${tokens.bob}` },
});
const listed = await client.client.callTool({ name: "tasks_list", arguments: { word: "vet" } });
say(`  ${client.tools.length} tools for bob; tasks_list -> ${JSON.stringify(listed["structuredContent"])}`);
await client.close();

say("\nA laptop joins over WebSocket, and the hub calls it:");
const laptop = await joinHub(url, tokens.laptop);
const battery = await registry.untyped().execute("laptop.battery", {}, { identity: bob });
say(`  laptop.battery, as bob -> ${JSON.stringify(battery.data)}`);

const close = async () => {
  await laptop.close();
  await hub.close();
};

if (isTour) {
  await close();
  say("\nThat was the hub. `npm run hub` starts it and leaves it running.");
} else {
  say(`\nThe hub is up:
  Page  ${url}                (paste a token with the key "t")
  HTTP  ${url}/api            (described by ${url}/api/openapi.json)
  MCP   ${url}/mcp
  ada   Authorization: Bearer ${tokens.ada}
  bob   Authorization: Bearer ${tokens.bob}
Ctrl+C stops it.`);
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void close());
}
