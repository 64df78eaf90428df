// Uses the approvals of a folder: `folder log ids [die]`. With `die`, it is killed right after an approval was used.
import fs from "node:fs";
import { OperationRegistry } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";

const [folder, log, ids, die] = process.argv.slice(2);
const operation = {
  namespace: "t",
  name: "run",
  version: "1.0.0",
  type: "mutation",
  description: "Counts",
  inputSchema: Type.Unknown(),
  outputSchema: Type.Unknown(),
  accessControl: { requiredScopes: [] },
  approval: "always",
  handler: (input) => fs.appendFileSync(log, `${input}\n`),
};
if (die !== undefined) {
  const { renameSync } = fs;
  fs.renameSync = (...paths) => {
    renameSync(...paths);
    process.kill(process.pid, "SIGKILL");
  };
}
const registry = new OperationRegistry({ approvals: { store: { folder } } });
registry.register(operation);

process.stdout.write("ready\n");
process.stdin.once("data", async () => {
  const calls = JSON.parse(ids).map((approval, nr) =>
    registry.execute("t.run", nr, { identity: { id: "ada", scopes: [] }, approval }).catch(() => {}),
  );
  await Promise.all(calls);
  process.exit(0);
});
