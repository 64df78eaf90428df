// A registry that is served, next to Fastify and Hono with the same checks: requests per second, and how long the main thread
// of the server works for each. Each server is a process of its own, and so is the one behind the imported operation; the load comes from this one.
// Rounds are interleaved. Load and upstream are the same for all, and cost as little as they can (`http-load.mjs`). `--requests=N` per round, `--rounds=N`.

import { fork } from "node:child_process";
import { generateKeyPairSync, sign } from "node:crypto";
import { once } from "node:events";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { Load, requestOf } from "./http-load.mjs";
import { report } from "./results.mjs";
import { median, printTable } from "./support.mjs";

const option = (name, usual) =>
  Number(process.argv.find((argument) => argument.startsWith(`--${name}=`))?.split("=")[1] ?? usual);
const REQUESTS = option("requests", 10_000);
const ROUNDS = option("rounds", 5);
const IN_FLIGHT = 32;

const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
const identity = {
  issuer: "https://login.example.com",
  audience: "tasks",
  jwk: keys.publicKey.export({ format: "jwk" }),
  token: "a-token-of-the-configuration",
};

/** A JWT for one person. */
function jwtOf(sub) {
  const { issuer: iss, audience: aud } = identity;
  const claims = { iss, aud, sub, exp: Math.floor(Date.now() / 1000) + 3_600 };
  const encoded = (part) => Buffer.from(JSON.stringify(part)).toString("base64url");
  const text = `${encoded({ alg: "ES256" })}.${encoded(claims)}`;
  const signature = sign("sha256", text, { key: keys.privateKey, dsaEncoding: "ieee-p1363" });
  return `${text}.${signature.toString("base64url")}`;
}

const sameJwt = jwtOf("ada");
const cases = [
  {
    key: "serve.local",
    what: "POST of a local operation",
    path: "/api/tasks/create",
    body: JSON.stringify({ title: "Water the plants", tags: ["home", "green"] }),
    who: ["fastify", "hono", "createHandler", "serve"],
  },
  {
    key: "serve.imported",
    what: "an imported operation",
    path: "/api/pets/small",
    body: "{}",
    who: ["fastify", "createHandler", "serve"],
  },
  {
    what: "POST of a local operation, with one token",
    path: "/api/tasks/create",
    body: JSON.stringify({ title: "Water the plants", tags: ["home", "green"] }),
    who: ["fastify, fast-jwt", "serve, tokens", "serve, jwt"],
    tokenFor: (who) => (who === "serve, tokens" ? identity.token : sameJwt),
  },
  {
    what: "POST of a local operation, with another token each time",
    path: "/api/tasks/create",
    body: JSON.stringify({ title: "Water the plants", tags: ["home", "green"] }),
    who: ["fastify, fast-jwt", "serve, jwt"],
    isFresh: true,
  },
];

const upstream = fork(fileURLToPath(new URL("http-upstream.mjs", import.meta.url)));
const [upstreamUrl] = await once(upstream, "message");
const servers = {};
for (const who of new Set(cases.flatMap((each) => each.who))) servers[who] = await start(who);

for (const { key, what, path, body, who, tokenFor, isFresh } of cases) {
  const reference = who[0];
  const results = Object.fromEntries(who.map((name) => [name, []]));
  for (let round = -1; round < ROUNDS; round++) {
    const tokens = isFresh && Array.from({ length: REQUESTS }, (_, n) => jwtOf(`caller ${round}/${n}`));
    for (const name of who) {
      const given = tokens || Array(REQUESTS).fill(tokenFor?.(name));
      const result = await measure(servers[name], path, body, given);
      // The first round warms up.
      if (round >= 0) results[name].push(result);
    }
  }
  const of = (name, field) => median(results[name].map((result) => result[field]));
  const figures = (name, field) => ({ ours: of(name, field), reference: of(reference, field) });
  if (key !== undefined) report(key, figures("serve", "rate"));
  if (key === "serve.imported") report("serve.imported.main", figures("serve", "thread"));
  console.log(`\n${what}: ${IN_FLIGHT} in flight, ${REQUESTS} requests a round, ${ROUNDS} rounds`);
  printTable(
    ["", "req/s", `next to ${reference}`, "main thread us", `next to ${reference}`],
    who.map((name) => [
      name,
      Math.round(of(name, "rate")),
      (of(name, "rate") / of(reference, "rate")).toFixed(2),
      of(name, "thread").toFixed(1),
      (of(name, "thread") / of(reference, "thread")).toFixed(2),
    ]),
  );
}
for (const { stop } of Object.values(servers)) stop();
upstream.disconnect();

async function start(who) {
  const file = fileURLToPath(new URL("serve-contestant.mjs", import.meta.url));
  const child = fork(file, [who, upstreamUrl, JSON.stringify(identity)]);
  const [{ url }] = await once(child, "message");
  const busy = async () => {
    child.send("busy?");
    const [report] = await once(child, "message");
    return report.busy;
  };
  return { url, busy, stop: () => child.disconnect() };
}

/** `tokens`: one for each request, or nothing. */
async function measure({ url, busy }, path, body, tokens) {
  const requests = tokens.map((token) =>
    requestOf(`${url}${path}`, body, token && { authorization: `Bearer ${token}` }),
  );
  // Not one for all rounds: a server closes connections that have had nothing to do for some seconds.
  const load = await Load.open(url, IN_FLIGHT);
  const before = await busy();
  const began = performance.now();
  await load.send(requests);
  const elapsed = performance.now() - began;
  load.close();
  return { rate: (REQUESTS / elapsed) * 1000, thread: (((await busy()) - before) / REQUESTS) * 1000 };
}
