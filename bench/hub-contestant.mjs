// A server of hub.bench.mjs: the same work behind our hub, behind a hand-written JSON protocol on `ws`, and behind Socket.IO.
// All three check their inputs. It answers "busy?" with how long its main thread has worked, and "memory?" with its memory.

import { createServer } from "node:http";
import { Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { mainThreadTime } from "./main-thread.mjs";

const inputSchema = Type.Object({ title: Type.String({ minLength: 1 }), tags: Type.Array(Type.String()) });
const outputSchema = Type.Object({
  id: Type.Number(),
  title: Type.String(),
  tags: Type.Array(Type.String()),
});
let made = 0;
function create({ title, tags }) {
  made += 1;
  return { id: made, title, tags };
}
async function* ticks({ to }) {
  for (let n = 0; n < to; n++) yield { n, title: "Water the plants", tags: ["home", "green"] };
}

const servers = {
  async operations() {
    const { createRegistry } = await import("@alkdev/operations");
    const { serve } = await import("@alkdev/operations/serve");
    const common = {
      namespace: "tasks",
      version: "1.0.0",
      description: "",
      accessControl: { requiredScopes: [] },
    };
    const registry = createRegistry([
      { ...common, name: "create", type: "mutation", inputSchema, outputSchema, handler: create },
      {
        ...common,
        name: "ticks",
        type: "subscription",
        inputSchema: Type.Object({ to: Type.Number() }),
        outputSchema: Type.Object({
          n: Type.Number(),
          title: Type.String(),
          tags: Type.Array(Type.String()),
        }),
        handler: ticks,
      },
    ]);
    const served = await serve(registry, { doors: { hub: true } });
    return served.url.replace("http", "ws").concat("/hub");
  },

  async ws() {
    const { WebSocketServer } = await import("ws");
    const http = createServer();
    const server = new WebSocketServer({ server: http, perMessageDeflate: false });
    const checks = TypeCompiler.Compile(inputSchema);
    server.on("connection", (socket) => {
      socket.on("message", async (data) => {
        const { id, operation, input } = JSON.parse(String(data));
        if (operation === "tasks.ticks") {
          for await (const event of ticks(input)) socket.send(JSON.stringify({ id, event }));
          socket.send(JSON.stringify({ id, done: true }));
        } else if (!checks.Check(input)) {
          socket.send(JSON.stringify({ id, error: "VALIDATION_ERROR" }));
        } else {
          const data = create(input);
          const meta = { source: "local", operationId: operation, timestamp: Date.now() };
          socket.send(JSON.stringify({ id, output: { data, meta } }));
        }
      });
    });
    await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
    return `ws://127.0.0.1:${http.address().port}`;
  },

  async socketio() {
    const { Server } = await import("socket.io");
    const http = createServer();
    const io = new Server(http, { transports: ["websocket"], perMessageDeflate: false });
    const checks = TypeCompiler.Compile(inputSchema);
    io.on("connection", (socket) => {
      socket.on("tasks.create", (input, answer) => {
        if (!checks.Check(input)) return answer({ error: "VALIDATION_ERROR" });
        const meta = { source: "local", operationId: "tasks.create", timestamp: Date.now() };
        return answer({ output: { data: create(input), meta } });
      });
      socket.on("tasks.ticks", async (input) => {
        for await (const event of ticks(input)) socket.emit("event", event);
        socket.emit("done");
      });
    });
    await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${http.address().port}`;
  },
};

const url = await servers[process.argv[2]]();
process.on("message", (question) => {
  if (question === "memory?") {
    globalThis.gc?.();
    process.send({ memory: process.memoryUsage.rss() });
  } else process.send({ busy: mainThreadTime(), made });
});
process.on("disconnect", () => process.exit());
process.send({ url });
