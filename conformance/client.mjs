// The client that the conformance suite looks at: ours, used as any program would use it. The suite appends the
// address of its server, and names the scenario in the environment.
//
// It ends with 0 when everything went as the scenario wants it: where the client has to refuse, when it did.

import { closeMCPClient, createMCPClient } from "@alkdev/operations";
import {
  argumentsFor,
  context,
  METADATA_URL,
  MUST_REFUSE,
  scenario,
  serverUrl,
  visit,
} from "./scenarios.mjs";

const { client_id: clientId, client_secret: clientSecret } = context;

/** What a program knows about its server beyond the address, by scenario. */
function oauth() {
  if (!scenario.startsWith("auth/")) return undefined;
  if (scenario === "auth/client-credentials-basic") {
    return { clientCredentials: { clientId, clientSecret } };
  }
  if (scenario === "auth/client-credentials-jwt") {
    const { private_key_pem: privateKey, signing_algorithm: algorithm } = context;
    return { clientCredentials: { clientId, privateKey, algorithm } };
  }
  if (scenario === "auth/wif-jwt-bearer") {
    return { workload: { clientId, token: () => context.valid_jwt } };
  }
  if (scenario === "auth/enterprise-managed-authorization") {
    const { idp_issuer: issuer, idp_token_endpoint: tokenEndpoint, idp_client_id, idp_id_token } = context;
    const idp = { issuer, tokenEndpoint, clientId: idp_client_id };
    return { enterprise: { clientId, clientSecret, idp, idToken: () => idp_id_token } };
  }
  return {
    onAuthorize: visit,
    dpop: scenario.startsWith("auth/dpop"),
    clientMetadataUrl: METADATA_URL,
    ...(scenario === "auth/pre-registration" && { clientId, clientSecret }),
  };
}

async function run() {
  const wrapper = await createMCPClient("conformance", {
    url: serverUrl,
    oauth: oauth(),
    // Accepts whatever the server proposes.
    onElicitation: () => ({ action: "accept", content: {} }),
    onSampling: () => ({ role: "assistant", model: "none", content: { type: "text", text: "nothing" } }),
  });
  try {
    const { tools } = await wrapper.client.listTools();
    for (const call of argumentsFor(tools)) await wrapper.client.callTool(call);
  } finally {
    await closeMCPClient(wrapper);
  }
}

const refusal = await run().then(
  () => undefined,
  (error) => error,
);
if (refusal !== undefined) console.error(refusal.code, refusal.message);
process.exitCode = (refusal !== undefined) === MUST_REFUSE.has(scenario) ? 0 : 1;
