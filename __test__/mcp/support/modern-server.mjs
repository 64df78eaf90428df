// The server of `modern-tools.mjs` over stdio. With the argument `modern-only` it refuses older clients.

import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { modernServer } from "./modern-tools.mjs";

serveStdio(modernServer, { legacy: process.argv.includes("modern-only") ? "reject" : "serve" });
