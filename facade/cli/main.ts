#!/usr/bin/env node
import { EXIT } from "./exit-codes.js";
import { run } from "./run.js";

void run(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
  // Otherwise no `process.exit`: what is still being written would be lost. After an interrupt, a request that is not waited
  // for any more must not keep the user waiting.
  if (code === EXIT.INTERRUPTED || code === EXIT.TERMINATED)
    process.stdout.write("", () => process.exit(code));
});
