// A small OAuth 2.1 authorization server on loopback: metadata, dynamic registration, PKCE, refresh, and programs that
// come with credentials of their own.

import { createHash, createPublicKey, randomUUID, verify } from "node:crypto";
import { createServer } from "node:http";
import { defer } from "./defer.mjs";

const TOKEN_LIFETIME = 3600;

/** `lifetime` is how long access tokens live, in seconds; `metadata` replaces what the server says about itself;
 * `programs` are the secrets, or the public keys, of programs that come without a user; `vouched` has the names of those
 * that somebody vouches for, by what is said; with `dpop`, tokens are bound to keys, and proofs need a nonce;
 * `odd` are routes that answer in another way. */
export async function startAuthorizationServer(
  test,
  { lifetime = TOKEN_LIFETIME, metadata = {}, programs = {}, vouched = {}, dpop = false, odd = {} } = {},
) {
  const clients = new Map();
  const codes = new Map();
  /** What each allows. */
  const accessTokens = new Map();
  /** The keys that access tokens are bound to. */
  const bound = new Map();
  let nonce = randomUUID();
  const refreshTokens = new Set();
  /** What happened, in words. */
  const events = [];

  const routes = {
    "GET /.well-known/oauth-authorization-server": (_, response, issuer) =>
      json(response, 200, {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        registration_endpoint: `${issuer}/register`,
        response_types_supported: ["code"],
        grant_types_supported: ["authorization_code", "refresh_token"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["none", "client_secret_post", "client_secret_basic"],
        scopes_supported: ["tools"],
        authorization_response_iss_parameter_supported: true,
        ...metadata,
      }),
    "POST /register": ({ body }, response) => {
      const metadata = JSON.parse(body);
      const client_id = `client-${clients.size + 1}`;
      clients.set(client_id, metadata);
      events.push("registered");
      json(response, 201, { ...metadata, client_id, client_id_issued_at: Math.floor(Date.now() / 1000) });
    },
    "GET /authorize": ({ url }, response, issuer) => {
      const asked = Object.fromEntries(url.searchParams);
      if (asked.response_type !== "code" || asked.code_challenge_method !== "S256") {
        return json(response, 400, { error: "invalid_request" });
      }
      const code = randomUUID();
      codes.set(code, asked);
      events.push("authorized");
      const target = new URL(asked.redirect_uri);
      target.searchParams.set("code", code);
      target.searchParams.set("state", asked.state);
      target.searchParams.set("iss", issuer);
      response.writeHead(302, { Location: target.href }).end();
    },
    "POST /token": ({ body, headers }, response, issuer) => {
      const form = Object.fromEntries(new URLSearchParams(body));
      const newTokens = tokensFor(dpop ? proven(headers.dpop, "POST", `${issuer}/token`) : undefined);
      if (newTokens === undefined) {
        response.setHeader("DPoP-Nonce", nonce);
        return json(response, 400, { error: "use_dpop_nonce" });
      }
      if (form.grant_type === "urn:ietf:params:oauth:grant-type:jwt-bearer") {
        const program = vouched[form.assertion];
        if (program === undefined || program !== form.client_id) {
          events.push("refused");
          return json(response, 400, { error: "invalid_grant" });
        }
        events.push(`token for ${program}`);
        return json(response, 200, { ...newTokens(form.scope), refresh_token: undefined });
      }
      if (form.grant_type === "client_credentials") {
        const program = programOf(form, headers, issuer);
        if (program === undefined) return json(response, 401, { error: "invalid_client" });
        events.push(`token for ${program}`);
        return json(response, 200, { ...newTokens(form.scope), refresh_token: undefined });
      }
      if (form.grant_type === "refresh_token") {
        if (!refreshTokens.delete(form.refresh_token)) return json(response, 400, { error: "invalid_grant" });
        events.push("refreshed");
        return json(response, 200, newTokens());
      }
      const asked = codes.get(form.code);
      codes.delete(form.code);
      const challenge = createHash("sha256")
        .update(form.code_verifier ?? "")
        .digest("base64url");
      const isValid = asked?.code_challenge === challenge && asked.redirect_uri === form.redirect_uri;
      if (!isValid) return json(response, 400, { error: "invalid_grant" });
      events.push("token");
      json(response, 200, newTokens(asked.scope));
    },
  };

  /** Makes tokens, bound to a key where there is one. */
  function tokensFor(key) {
    if (dpop && key === undefined) return undefined;
    return (scope = "tools") => {
      const access_token = `access-${randomUUID()}`;
      const refresh_token = `refresh-${randomUUID()}`;
      accessTokens.set(access_token, scope.split(" "));
      refreshTokens.add(refresh_token);
      if (dpop) bound.set(access_token, key);
      return {
        access_token,
        refresh_token,
        token_type: dpop ? "DPoP" : "Bearer",
        expires_in: lifetime,
        scope,
      };
    };
  }

  /** The key of a proof, if it is one for this request. */
  function proven(proof, method, url, token) {
    const [header, claims, signature] = (proof ?? "..").split(".");
    if (header === "") return undefined;
    const read = (part) => JSON.parse(Buffer.from(part, "base64url"));
    const { typ, jwk } = read(header);
    const { htm, htu, ath, nonce: given } = read(claims);
    const key = { key: createPublicKey({ key: jwk, format: "jwk" }), dsaEncoding: "ieee-p1363" };
    const hash = token && createHash("sha256").update(token).digest("base64url");
    const isGood =
      typ === "dpop+jwt" && htm === method && htu === url && ath === hash && given === nonce && !("d" in jwk);
    const isSigned = verify("sha256", `${header}.${claims}`, key, Buffer.from(signature, "base64url"));
    return isGood && isSigned ? jwk.x : undefined;
  }

  /** The program that shows its secret, or a signature by its key. */
  function programOf(form, headers, issuer) {
    if (form.client_assertion !== undefined) {
      const [header, claims, signature] = form.client_assertion.split(".");
      const { sub, iss, aud, exp } = JSON.parse(Buffer.from(claims, "base64url"));
      const key = { key: programs[sub]?.key, dsaEncoding: "ieee-p1363" };
      const isSigned = verify("sha256", `${header}.${claims}`, key, Buffer.from(signature, "base64url"));
      return isSigned && iss === sub && aud === issuer && exp > Date.now() / 1000 ? sub : undefined;
    }
    const basic = /^Basic (.*)$/.exec(headers.authorization ?? "")?.[1];
    const [id, secret] =
      basic === undefined
        ? [form.client_id, form.client_secret]
        : Buffer.from(basic, "base64").toString().split(":");
    return secret !== undefined && programs[id]?.secret === secret ? id : undefined;
  }

  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const issuer = `http://127.0.0.1:${server.address().port}`;
    const url = new URL(request.url, issuer);
    const name = `${request.method} ${url.pathname}`;
    const route = odd[name] ?? routes[name];
    if (route === undefined) return json(response, 404, { error: "not_found" });
    route({ url, body, headers: request.headers }, response, issuer);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  defer(test, () => {
    server.close();
    server.closeAllConnections();
  });
  const issuer = `http://127.0.0.1:${server.address().port}`;
  return {
    issuer,
    events,
    clients,
    /** Access tokens that are of no use any more, as when they have expired. */
    revokeAccess: () => accessTokens.clear(),
    revokeAll() {
      accessTokens.clear();
      refreshTokens.clear();
    },
    /** For the `before` of the HTTP server: turns away whoever has no token, or one that does not allow what the
     * request needs, and says where to get one. */
    guard: (request, response, message, { needs = () => "tools" } = {}) => {
      const origin = `http://${request.headers.host}`;
      if (request.url.startsWith("/.well-known/oauth-protected-resource")) {
        json(response, 200, {
          resource: `${origin}/mcp`,
          authorization_servers: [issuer],
          scopes_supported: ["tools"],
        });
        return true;
      }
      const needed = needs(message?.method);
      if (needed === undefined) return false;
      const [scheme, token] = (request.headers.authorization ?? "").split(" ");
      const allowed = scheme === (dpop ? "DPoP" : "Bearer") ? accessTokens.get(token) : undefined;
      if (dpop && allowed !== undefined) {
        const key = proven(request.headers.dpop, request.method, `${origin}${request.url}`, token);
        if (key === undefined || bound.get(token) !== key) {
          events.push("wants another proof");
          const challenge = { "WWW-Authenticate": 'DPoP error="use_dpop_nonce"', "DPoP-Nonce": nonce };
          response.writeHead(401, challenge).end();
          return true;
        }
      }
      if (allowed?.includes(needed)) return false;
      const where = `${origin}/.well-known/oauth-protected-resource/mcp`;
      const [status, error] = allowed === undefined ? [401, ""] : [403, ', error="insufficient_scope"'];
      const challenge = `Bearer resource_metadata="${where}", scope="${needed}"${error}`;
      response.writeHead(status, { "WWW-Authenticate": challenge }).end();
      return true;
    },
    tokens: () => [...accessTokens.keys(), ...refreshTokens],
    /** From now on, proofs need another. */
    changeNonce() {
      nonce = randomUUID();
    },
  };
}

/** What a browser does when the user agrees: it visits the page and is sent on to an address. */
export async function visit({ url }) {
  const response = await fetch(url, { redirect: "manual" });
  if (response.status !== 302) throw new Error(`HTTP ${response.status}: ${await response.text()}`);
  return response.headers.get("location");
}

function json(response, status, value) {
  response.writeHead(status, { "Content-Type": "application/json", "Cache-Control": "no-store" });
  response.end(JSON.stringify(value));
}
