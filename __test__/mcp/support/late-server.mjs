// A 2026-07-28 server over stdio that is too late for the first question: it says nothing until it is greeted in the older
// way, which it refuses. With "late-answer" it answers the first question then, and refuses without naming revisions.

import { createInterface } from "node:readline";

const answersLate = process.argv.includes("late-answer");
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const complete = (result) => ({ resultType: "complete", ttlMs: 0, cacheScope: "private", ...result });
const facts = complete({ supportedVersions: ["2026-07-28"], capabilities: { tools: {} } });
const tools = [{ name: "echo", inputSchema: { type: "object" } }];

let first;
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (method === "server/discover" && first === undefined) first = id;
  else if (method === "server/discover") say({ id, result: facts });
  else if (method === "tools/list") say({ id, result: complete({ tools }) });
  else if (method === "tools/call")
    say({ id, result: complete({ content: [{ type: "text", text: "here" }] }) });
  else if (method === "initialize" && answersLate) {
    say({ id: first, result: facts });
    say({ id, error: { code: -32601, message: "Method not found" } });
  } else if (method === "initialize") {
    const data = { requested: "2025-11-25", supported: ["2026-07-28"] };
    say({ id, error: { code: -32022, message: "Unsupported protocol version", data } });
  }
});
