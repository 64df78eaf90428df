// A server of the serve benchmark, in a process of its own: `node serve-contestant.mjs <who> <upstream> <identity>`. It says where it is,
// and, when asked, how long its main thread has worked.

import { createPublicKey } from "node:crypto";
import { createServer } from "node:http";
import { FromOpenAPI, OperationRegistry } from "@alkdev/operations";
import { createHandler, serve, toNodeListener } from "@alkdev/operations/serve";
import { Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { mainThreadTime } from "./main-thread.mjs";

const [who, upstream, identity] = process.argv.slice(2);
/** Who issues tokens, for whom, and its public key; and a token that is no JWT. */
const { issuer, audience, jwk, token } = JSON.parse(identity);

const Task = Type.Object({
  title: Type.String({ minLength: 1 }),
  done: Type.Optional(Type.Boolean()),
  tags: Type.Array(Type.String()),
});
const Created = Type.Object({ id: Type.Integer(), title: Type.String(), tags: Type.Array(Type.String()) });
const create = ({ title, tags }) => ({ id: 7, title, tags });
const Pet = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  status: Type.String(),
  tags: Type.Array(Type.String()),
  owner: Type.Object({ name: Type.String(), email: Type.String(), since: Type.String() }),
  weight: Type.Number(),
});

function registry() {
  const made = new OperationRegistry();
  made.register({
    namespace: "tasks",
    name: "create",
    version: "1.0.0",
    type: "mutation",
    description: "Creates a task",
    inputSchema: Task,
    outputSchema: Created,
    accessControl: { requiredScopes: [] },
    handler: create,
  });
  const content = { "application/json": { schema: Pet } };
  const get = { operationId: "small", responses: { 200: { description: "", content } } };
  const document = { openapi: "3.1.0", info: { title: "", version: "1" }, paths: { "/small": { get } } };
  made.registerAll(FromOpenAPI(document, { namespace: "pets", baseUrl: upstream }));
  return made;
}

/** Node answers; the handler decides what. */
const listening = (server) =>
  new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${server.address().port}`)),
  );

const contestants = {
  async serve() {
    return (await serve(registry(), { doors: { http: true } })).url;
  },
  async "serve, tokens"() {
    const tokens = { [token]: { id: "ada", scopes: [] } };
    return (await serve(registry(), { doors: { http: true }, tokens })).url;
  },
  async "serve, jwt"() {
    const jwt = { issuer, audience, jwks: { keys: [jwk] } };
    return (await serve(registry(), { doors: { http: true }, jwt })).url;
  },
  createHandler() {
    return listening(createServer(toNodeListener(createHandler(registry(), { doors: { http: true } }))));
  },
  async fastify() {
    const { default: fastify } = await import("fastify");
    const { Pool } = await import("undici");
    const app = fastify();
    app.post("/api/tasks/create", { schema: { body: Task, response: { 200: Created } } }, async ({ body }) =>
      create(body),
    );
    const pool = new Pool(upstream, { connections: 64 });
    const check = TypeCompiler.Compile(Pet);
    app.post("/api/pets/small", { schema: { response: { 200: Pet } } }, async () => {
      const { body } = await pool.request({ method: "GET", path: "/small" });
      const pet = await body.json();
      if (!check.Check(pet)) throw new Error("not a pet");
      return pet;
    });
    return app.listen({ port: 0, host: "127.0.0.1" });
  },
  async "fastify, fast-jwt"() {
    const { default: fastify } = await import("fastify");
    const { createVerifier } = await import("fast-jwt");
    const key = createPublicKey({ key: jwk, format: "jwk" }).export({ type: "spki", format: "pem" });
    const verify = createVerifier({
      key,
      algorithms: ["ES256"],
      allowedIss: issuer,
      allowedAud: audience,
      requiredClaims: ["exp", "sub"],
      cache: 10_000,
    });
    const app = fastify();
    app.addHook("onRequest", async ({ headers }) => void verify(headers.authorization.slice(7)));
    app.post("/api/tasks/create", { schema: { body: Task, response: { 200: Created } } }, async ({ body }) =>
      create(body),
    );
    return app.listen({ port: 0, host: "127.0.0.1" });
  },
  async hono() {
    const { Hono } = await import("hono");
    const { serve: serveHono } = await import("@hono/node-server");
    const app = new Hono();
    const [input, output] = [TypeCompiler.Compile(Task), TypeCompiler.Compile(Created)];
    app.post("/api/tasks/create", async (context) => {
      const body = await context.req.json();
      if (!input.Check(body)) return context.json({ error: "not a task" }, 400);
      const created = create(body);
      if (!output.Check(created)) throw new Error("not a task");
      return context.json(created);
    });
    return new Promise((resolve) =>
      serveHono({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) =>
        resolve(`http://127.0.0.1:${port}`),
      ),
    );
  },
};

process.send({ url: await contestants[who]() });
process.on("message", () => process.send({ busy: mainThreadTime() }));
process.on("disconnect", () => process.exit());
