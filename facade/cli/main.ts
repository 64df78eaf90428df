#!/usr/bin/env node
import { run } from "./run.js";

void run(process.argv.slice(2)).then((code) => {
  // No `process.exit`: what is still being written would be lost.
  process.exitCode = code;
});
