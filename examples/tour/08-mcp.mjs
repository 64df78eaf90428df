// The tools of an MCP server, as operations like any other. The server is `examples/mcp-server.mjs`.

import { fileURLToPath } from "node:url";
import { MCPClientLoader, OperationRegistry, unwrap } from "@alkdev/operations";
import { say, show } from "./show.mjs";

const server = fileURLToPath(new URL("../mcp-server.mjs", import.meta.url));

export default async function mcp() {
  // The shape of an `mcpServers` file.
  const loader = new MCPClientLoader();
  await loader.load({ notes: { command: process.execPath, args: [server] } });
  const registry = new OperationRegistry();
  loader.registerAll(registry);

  say("Every tool of every server is an operation, with its schemas:");
  for (const { namespace, name, description } of registry.getAllSpecs()) {
    show(`${namespace}.${name}`, description);
  }

  say("A tool that declares its output gives a value; any other gives content blocks:");
  const found = await registry.execute("notes.find_notes", { text: "plants" }, {});
  for (const note of unwrap(found).notes) show("notes.find_notes", note);
  show("notes.tick_note", unwrap(await registry.execute("notes.tick_note", { id: 1 }, {})));

  say("A tool that fails is an answer. An input that does not fit never leaves the program:");
  const { data, meta } = await registry.execute("notes.tick_note", { id: 99 }, {});
  show(`isError ${meta.isError}`, data[0].text);
  await registry
    .execute("notes.tick_note", { id: "first" }, {})
    .catch(({ code, message }) => show(code, message.split("\n")[0]));

  say("Progress arrives while a call runs, and a signal or a time limit stops it:");
  const onProgress = ({ progress, total, message }) => show(`printing ${progress}/${total}`, message);
  await registry.execute("notes.print_notes", {}, { onProgress });
  await registry
    .execute("notes.print_notes", {}, { metadata: { timeout: 10 } })
    .catch(({ code, details }) => show(code, `delivery: ${details.delivery}`));

  say("A server that dies is started again by the next call:");
  const { pid } = loader.getStatus().notes;
  process.kill(pid, "SIGKILL");
  const again = await registry.execute("notes.find_notes", { text: "letter" }, {});
  show("notes.find_notes", unwrap(again).notes[0]);
  show("another process", loader.getStatus().notes.pid !== pid);

  await loader.closeAll();
  show("after closeAll", `${loader.getAllWrappers().length} servers`);
}
