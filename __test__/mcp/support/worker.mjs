// A worker thread that uses a server. It tells when it is connected, answers texts through the server, and
// ends its client when told "close".

import { parentPort, workerData } from "node:worker_threads";
import { closeMCPClient, createMCPClient } from "@alkdev/operations";

const wrapper = await createMCPClient("test", workerData);
const echo = wrapper.tools.find(({ name }) => name === "echo");

parentPort.on("message", async (text) => {
  if (text === "close") {
    await closeMCPClient(wrapper);
    parentPort.close();
    return;
  }
  const { data } = await echo.handler({ text }, {});
  parentPort.postMessage(data[0].text);
});
parentPort.postMessage("ready");
