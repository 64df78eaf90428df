// A pet shop with an OpenAPI document: another company's service, which happens to run here.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const pet = {
  type: "object",
  properties: { id: { type: "integer" }, name: { type: "string" } },
  required: ["id", "name"],
};
const answers = { 200: { description: "A pet", content: { "application/json": { schema: pet } } } };
const petId = { name: "petId", in: "path", required: true, schema: { type: "integer" } };

const document = {
  openapi: "3.1.0",
  info: { title: "Pet shop", version: "1.0.0" },
  paths: {
    "/pets/{petId}": {
      get: { operationId: "getPet", summary: "A pet by its number", parameters: [petId], responses: answers },
      delete: { operationId: "sellPet", summary: "Sells a pet", parameters: [petId], responses: answers },
    },
  },
};

export async function openShop(): Promise<{ url: string; close(): void }> {
  const pets = new Map([[1, "Ada"]]);
  const server = createServer(({ method, url = "" }, response) => {
    const id = Number(/^\/pets\/(\d+)$/.exec(url)?.[1]);
    const name = pets.get(id);
    const [status, body] =
      url === "/openapi.json"
        ? [200, document]
        : name === undefined
          ? [404, { reason: "sold" }]
          : [200, { id, name }];
    if (method === "DELETE") pets.delete(id);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => void server.close() };
}
