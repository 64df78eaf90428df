// MessagePorts as a transport.

import { MessageChannel } from "node:worker_threads";
import { connectPort } from "@alkdev/operations";
import { ADA, transportTests } from "./kit.mjs";

transportTests("MessagePort", {
  async open(registry) {
    const { port1, port2 } = new MessageChannel();
    const transport = connectPort(port1);
    const there = connectPort(port2);
    await there.serve(registry);
    return {
      transport,
      as: { identity: ADA },
      cut: () => port2.close(),
      shut: (options) => there.close(options),
      end: () => Promise.all([transport, there].map((each) => each.close({ drain: 0 }))),
    };
  },
  lost: ["peer-lost"],
});
