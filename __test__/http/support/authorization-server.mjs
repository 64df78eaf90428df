// `oidc-provider` on loopback, an API that takes its tokens, and a browser whose user agrees to everything.

import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { FromOpenAPI, OperationRegistry } from "@alkdev/operations";
import Provider, { errors } from "oidc-provider";
import { defer } from "../../mcp/support/defer.mjs";

export const SECRET = "s3cret & more";
const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
export const PRIVATE_KEY = keys.privateKey.export({ type: "pkcs8", format: "pem" });

const CLIENTS = [
  {
    client_id: "hub:1",
    client_secret: SECRET,
    grant_types: ["client_credentials", EXCHANGE],
    redirect_uris: [],
    response_types: [],
  },
  {
    client_id: "signer",
    token_endpoint_auth_method: "private_key_jwt",
    token_endpoint_auth_signing_alg: "ES256",
    jwks: { keys: [{ ...keys.publicKey.export({ format: "jwk" }), kid: "k1", use: "sig", alg: "ES256" }] },
    grant_types: ["client_credentials"],
    redirect_uris: [],
    response_types: [],
  },
  {
    client_id: "app",
    application_type: "native",
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
    redirect_uris: ["http://127.0.0.1/callback"],
    response_types: ["code"],
  },
];

async function listen(test, server) {
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  defer(test, () => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

/** `life` is that of access tokens, in seconds; `subjectOf` says whose a token is that is to be traded. */
export async function startAuthorizationServer(test, { life = 3600, subjectOf = () => undefined } = {}) {
  const server = createServer();
  const issuer = await listen(test, server);
  /** The grant types that tokens were asked for with. */
  const grants = [];
  const provider = new Provider(issuer, {
    clients: CLIENTS,
    scopes: ["openid", "read"],
    features: {
      clientCredentials: { enabled: true },
      deviceFlow: { enabled: true },
      devInteractions: { enabled: false },
    },
    ttl: { AccessToken: () => life, ClientCredentials: () => life, RefreshToken: () => 86_400 },
    rotateRefreshToken: true,
    issueRefreshToken: () => true,
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    cookies: { keys: ["a key for cookies"] },
  });
  provider.registerGrantType(
    EXCHANGE,
    async (ctx) => {
      const { client, params } = ctx.oidc;
      const accountId = subjectOf(params.subject_token);
      if (accountId === undefined) throw new errors.InvalidGrant("the subject token is not known");
      const token = new provider.AccessToken({ accountId, client, gty: EXCHANGE, scope: params.scope });
      ctx.body = {
        access_token: await token.save(),
        issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
        token_type: "Bearer",
        expires_in: life,
      };
    },
    ["subject_token", "subject_token_type", "requested_token_type", "scope"],
  );
  provider.on("grant.success", ({ oidc }) => grants.push(oidc.params.grant_type));
  const callback = provider.callback();
  server.on("request", async (request, response) => {
    if (!request.url.startsWith("/interaction/")) return callback(request, response);
    await provider.interactionFinished(request, response, await agree(provider, request, response), {
      mergeWithLastSubmission: true,
    });
  });
  /** Whose token a request has: a user, or a program. */
  const holderOf = async ({ headers }) => {
    const token = /^Bearer (.*)$/.exec(headers.authorization ?? "")?.[1] ?? "";
    const found = await provider.AccessToken.find(token);
    const ofProgram = await provider.ClientCredentials.find(token);
    return found?.accountId ?? ofProgram?.clientId;
  };
  return { issuer, provider, grants, holderOf };
}

async function agree(provider, request, response) {
  const { prompt, params } = await provider.interactionDetails(request, response);
  if (prompt.name === "login") return { login: { accountId: "ada" } };
  const grant = new provider.Grant({ accountId: "ada", clientId: params.client_id });
  grant.addOIDCScope(params.scope ?? "read");
  return { consent: { grantId: await grant.save() } };
}

/** An API whose answer is who calls. `refuse` has tokens that it does not take (any more). */
export async function startApi(test, { holderOf }) {
  const seen = { tokens: [], refuse: new Set() };
  const server = createServer(async (request, response) => {
    const token = request.headers.authorization;
    seen.tokens.push(token);
    const holder = seen.refuse.has(token) ? undefined : await holderOf(request);
    response.writeHead(holder === undefined ? 401 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(holder ?? { error: "invalid_token" }));
  });
  return Object.assign(seen, { url: await listen(test, server) });
}

/** A document with one operation, and with security schemes. */
export const documentWith = (securitySchemes = {}) => ({
  openapi: "3.1.0",
  info: { title: "t", version: "1" },
  security: Object.keys(securitySchemes).map((name) => ({ [name]: [] })),
  components: { securitySchemes },
  paths: {
    "/me": {
      get: {
        operationId: "me",
        responses: { 200: { description: "", content: { "application/json": { schema: {} } } } },
      },
    },
  },
});

/** Calls the API with the tokens of a configuration. */
export function callerOf(api, auth, { document = documentWith(), ...config } = {}) {
  const registry = new OperationRegistry();
  registry.registerAll(
    FromOpenAPI(document, {
      namespace: "api",
      baseUrl: api.url,
      auth: { type: "oauth2", ...auth },
      ...config,
    }),
  );
  return Object.assign(async () => (await registry.execute("api.me", {}, {})).data, { registry });
}

/** Visits a page, with cookies, until the next address is not that of the authorization server. Returns that address. */
export async function visit(url) {
  const { origin } = new URL(url);
  const cookies = new Map();
  let address = url;
  for (let step = 0; step < 20; step++) {
    const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(address, { redirect: "manual", headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]*)=([^;]*)/.exec(line);
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    if (location === null) throw new Error(`HTTP ${response.status}: ${await response.text()}`);
    address = new URL(location, address).href;
    if (new URL(address).origin !== origin) return address;
  }
  throw new Error("It redirects without end");
}

/** A token store, and what was done with it. */
export function memoryStore(kept) {
  const store = {
    kept,
    events: [],
    load: async () => store.kept,
    async save(tokens) {
      store.events.push("saving");
      await new Promise((resolve) => setTimeout(resolve, 20));
      store.kept = structuredClone(tokens);
      store.events.push("saved");
    },
    clear: async () => {
      store.events.push("cleared");
      store.kept = undefined;
    },
  };
  return store;
}
