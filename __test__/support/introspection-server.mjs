// An authorization server that is asked about tokens (RFC 7662).

import { createServer } from "node:http";
import { after } from "node:test";

export const SECRET = "s3cret:/with+signs";
/** As the client must send them. */
export const CREDENTIALS = `Basic ${Buffer.from("tasks%3A1:s3cret%3A%2Fwith%2Bsigns").toString("base64")}`;

/** An authorization server with these tokens. */
export async function authorizationServer(tokens = {}) {
  const state = { tokens, asked: [], status: 200 };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    const token = new URLSearchParams(body).get("token");
    state.asked.push(token);
    const isClient = request.headers.authorization === CREDENTIALS;
    response.statusCode = isClient ? (state.statusOf?.(token) ?? state.status) : 401;
    const active = state.tokens[token];
    response.end(JSON.stringify(active === undefined ? { active: false } : { active: true, ...active }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close());
  state.options = {
    url: `http://127.0.0.1:${server.address().port}/introspect`,
    clientId: "tasks:1",
    clientSecret: SECRET,
  };
  return state;
}
