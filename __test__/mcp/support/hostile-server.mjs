// A stdio server that surrounds its answers with nonsense, or leaves them out. SEED says with which.

import { createInterface } from "node:readline";
import { Random } from "../../schema/support/random.mjs";
import { hostileMessage } from "./hostile-messages.mjs";
import { Conversation } from "./protocol.mjs";

const random = new Random(Number(process.env.SEED));
const write = (text) => process.stdout.write(text);

const conversation = new Conversation({
  send: (message) => write(`${JSON.stringify(message)}\n`),
  sendText: (text) => write(`${text}\n`),
  end: (code) => process.exit(code),
});

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.params?.name !== "arguments") return void conversation.take(message);
  for (let i = random.below(10); i > 0; i--) {
    write(
      `${hostileMessage(random, message.id).replaceAll("\n", " ")}${random.chance(0.05) ? "\r\n\n" : "\n"}`,
    );
    if (random.chance(0.05)) write(Buffer.from([0xff, 0xc0, 0x00, 0x0a]));
  }
  if (random.chance(0.7)) conversation.take(message);
});
