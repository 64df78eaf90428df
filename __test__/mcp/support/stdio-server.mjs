// A stdio MCP server without an SDK. Its arguments are the traits that make it misbehave:
//
//   node stdio-server.mjs garbage family stubborn
//
// STARTS_FILE names a file to which every start adds a line: a trace that outlives the server.

import { spawn } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { Conversation } from "./protocol.mjs";

const traits = new Set(process.argv.slice(2));
// MARKER names a file; once it is there, `<trait>-when-restarted` counts as `<trait>`.
if (process.env.MARKER && existsSync(process.env.MARKER)) {
  for (const trait of [...traits]) traits.add(trait.replace(/-when-restarted$/, ""));
}
const has = (trait) => traits.has(trait);

trace("server", process.pid);
if (has("family")) startFamily();
if (has("daemon")) startDaemon();
if (has("stubborn")) for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => {});
if (has("stubborn") || has("ignores-end")) setInterval(() => {}, 1 << 30);
if (has("talks-on-stderr")) process.stderr.write(`${"blah ".repeat(40_000)}the last word\n`);
if (has("tells-token")) process.stderr.write(`the token is ${process.env.TOKEN}\n`);
if (has("crash")) {
  process.stderr.write("cannot open the database: no such file\n");
  process.exit(3);
}
if (has("crash-by-signal")) process.kill(process.pid, "SIGKILL");
if (has("closes-stdout")) {
  process.stdout.end();
  setInterval(() => {}, 1 << 30);
}
if (has("garbage")) writeGarbage();
if (has("endless-line")) writeLongLine();
if (has("long-line")) {
  writeLongLine();
  process.stdout.write("\n");
}

if (has("waits-for-three")) {
  const started = () => readFileSync(process.env.STARTS_FILE, "utf8").split("\n").length - 1;
  while (started() < 3) await new Promise((resolve) => setTimeout(resolve, 20));
}

const conversation = new Conversation({
  traits,
  send(message) {
    if (has("garbage")) process.stdout.write("Listening on nothing in particular\n");
    for (const line of linesOf(message)) process.stdout.write(`${line}${has("crlf") ? "\r" : ""}\n`);
  },
  sendText: (message) => process.stdout.write(`${message}\n`),
  end: (code) => process.exit(code),
});

/** A message as it goes over the wire: usually one line. */
function linesOf(message) {
  const text = JSON.stringify(message);
  const isAnswer = message.method === undefined;
  if (has("batches")) return [`[${text},{"jsonrpc":"2.0","method":"notifications/nothing"}]`];
  if (has("pretty")) return [JSON.stringify(message).replaceAll(",", " , ").replaceAll(":", " : ")];
  if (!isAnswer) return [text];
  if (has("answers-twice")) return [text, text];
  if (has("string-ids")) return [JSON.stringify({ ...message, id: String(message.id) })];
  if (has("strangers-first")) {
    const strangers = [{ id: 999_999 }, { id: "nobody" }, { id: null }, { id: -1 }, { id: 1.5 }, {}];
    return [...strangers.map((each) => JSON.stringify({ jsonrpc: "2.0", ...each, result: {} })), text];
  }
  return [text];
}

createInterface({ input: process.stdin })
  .on("line", (line) => {
    if (!has("deaf")) conversation.take(JSON.parse(line));
  })
  .on("close", () => {
    trace("end", process.pid);
    if (!has("stubborn") && !has("ignores-end")) process.exit(0);
  });

/** What programs print that believe nobody but people read their output. */
function writeGarbage() {
  process.stdout.write("npm warn deprecated everything\n");
  process.stdout.write("\u001b[32m✔\u001b[0m ready\n\n   \n");
  process.stdout.write(Buffer.from([0xff, 0xfe, 0x00, 0x80, 0x0a]));
  process.stdout.write('{"not":"closed"\n[]\n42\nnull\n"text"\n{"jsonrpc":"2.0"}\n{"id":{},"result":1}\n');
  process.stdout.write(`${"[".repeat(10_000)}\n`);
}

/** 100 MB without a line break: nobody may keep all of it. */
function writeLongLine() {
  const piece = Buffer.alloc(1_000_000, "x");
  for (let i = 0; i < 100; i++) writeSync(1, piece);
}

/** A daemon: its parent ends at once, in a session of its own. */
function startDaemon() {
  const idle = `for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => {}); setInterval(() => {}, 1 << 30);`;
  const line = `"$0" -e '${idle}' </dev/null >/dev/null 2>&1 & echo "daemon $!" >> "$STARTS_FILE"`;
  spawn("/bin/sh", ["-c", line, process.execPath], { stdio: "ignore", detached: true });
}

/** A child that has a child of its own, as `npx` and shell scripts do. Neither reads its input. */
function startFamily() {
  // With `runaway` each of them leaves the process group and its session.
  const detached = has("runaway");
  const idle = `process.on("SIGTERM", () => {}); process.on("SIGHUP", () => {}); setInterval(() => {}, 1 << 30);`;
  const grandchild = `const { spawn } = require("node:child_process");
    const child = spawn(process.execPath, ["-e", ${JSON.stringify(idle)}], { stdio: "ignore", detached: ${detached} });
    require("node:fs").appendFileSync(process.env.STARTS_FILE, "grandchild " + child.pid + "\\n");
    ${idle}`;
  const child = spawn(process.execPath, ["-e", grandchild], { stdio: "ignore", detached });
  trace("child", child.pid);
}

function trace(what, pid) {
  if (process.env.STARTS_FILE) appendFileSync(process.env.STARTS_FILE, `${what} ${pid}\n`);
}
