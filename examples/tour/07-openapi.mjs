// A service with an OpenAPI document becomes operations: a query, a mutation, a stream, an error.

import { createServer } from "node:http";
import { OpenAPIServiceRegistry, OperationRegistry, subscribe, unwrap } from "@alkdev/operations";
import { say, show } from "./show.mjs";

const pet = {
  type: "object",
  properties: { id: { type: "integer" }, name: { type: "string" } },
  required: ["id", "name"],
};
const json = (schema) => ({ description: "", content: { "application/json": { schema } } });
const id = { name: "id", in: "path", required: true, schema: { type: "integer" } };
const document = {
  openapi: "3.1.0",
  info: { title: "Pet shop", version: "1.4.0" },
  paths: {
    "/pets/{id}": { get: { operationId: "getPet", parameters: [id], responses: { 200: json(pet) } } },
    "/pets": {
      post: {
        operationId: "addPet",
        requestBody: { required: true, ...json(pet) },
        responses: { 201: json(pet) },
      },
    },
    "/arrivals": {
      get: {
        operationId: "watchArrivals",
        responses: { 200: { description: "", content: { "text/event-stream": { schema: pet } } } },
      },
    },
  },
};

/** A small server that has the document and does what it says. */
function petShop() {
  const pets = new Map([[1, { id: 1, name: "Ada" }]]);
  return createServer(async (request, response) => {
    const answer = (status, value) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    };
    if (request.url === "/openapi.json") return answer(200, document);
    if (request.headers.authorization !== "Bearer open-sesame")
      return answer(401, { reason: "who are you?" });
    if (request.url === "/arrivals") return sendArrivals(response);
    if (request.method === "POST") {
      let text = "";
      for await (const chunk of request) text += chunk;
      const pet = JSON.parse(text);
      pets.set(pet.id, pet);
      return answer(201, pet);
    }
    const found = pets.get(Number(request.url.split("/").at(-1)));
    // The shop says more than it has declared, and an id as a text.
    if (found !== undefined) return answer(200, { ...found, id: String(found.id), shelf: 4 });
    answer(404, { reason: "sold out" });
  });
}

function sendArrivals(response) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const [id, name] of ["Grace", "Edsger", "Barbara"].entries()) {
    response.write(`id: ${id}\nevent: arrival\ndata: ${JSON.stringify({ id: id + 10, name })}\n\n`);
  }
  // It never ends: the consumer decides when it has seen enough.
}

export default async function openapi() {
  const server = petShop();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${server.address().port}`;
  const services = new OpenAPIServiceRegistry();
  const registry = new OperationRegistry();

  say("A document at a URL becomes operations:");
  await services.addFromUrl("shop", `${baseUrl}/openapi.json`, {
    namespace: "shop",
    baseUrl,
    auth: { type: "bearer", token: "open-sesame" },
  });
  services.registerAll(registry);
  for (const { name, type, _meta } of registry.list())
    show(`shop.${name}`, `${type}, ${_meta.method} ${_meta.path}`);

  say("A query and a mutation. Results take the shape that the document declares:");
  const envelope = await registry.execute("shop.getPet", { id: 1 }, {});
  show("shop.getPet", unwrap(envelope));
  show("  came from", { statusCode: envelope.meta.statusCode, contentType: envelope.meta.contentType });
  show("shop.addPet", unwrap(await registry.execute("shop.addPet", { body: { id: 2, name: "Alan" } }, {})));

  say("A stream; leaving it closes the connection:");
  for await (const { data, meta } of subscribe(registry, "shop.watchArrivals", {}, {})) {
    show(`shop.watchArrivals (${meta.sse.event} ${meta.sse.id})`, data);
    if (data.name === "Edsger") break;
  }

  say("An error has everything that the server said; an input that does not fit is never sent:");
  for (const input of [{ id: 99 }, { id: "one" }]) {
    await registry.execute("shop.getPet", input, {}).catch(({ code, message, details }) => {
      show(code, details.body === undefined ? message : `${message} ${JSON.stringify(details.body)}`);
    });
  }

  await services.closeAll();
  server.close();
  server.closeAllConnections();
}
