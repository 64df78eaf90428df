// A process that serves the benchmark's operation over NATS, as ours or as Moleculer's: `ours|moleculer <url> <name>`.

import { sizedOperation } from "./execute-cases.mjs";

const [kind, url, name] = process.argv.slice(2);

if (kind === "ours") {
  const { OperationRegistry } = await import("@alkdev/operations");
  const { connectNats } = await import("@alkdev/operations/transport-nats");
  const registry = new OperationRegistry();
  registry.register(sizedOperation("small"));
  const connection = await connectNats({ servers: url, name });
  await connection.serve(registry);
} else {
  const { moleculerBroker } = await import("./call-cases.mjs");
  const broker = moleculerBroker({ nodeID: name, transporter: url });
  broker.createService((await import("./call-cases.mjs")).moleculerService);
  await broker.start();
}
process.send("ready");
// Ends with the benchmark, however that ends.
process.on("disconnect", () => process.exit());
