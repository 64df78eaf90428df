// The official SDK in the same scenarios, used as its documentation says: where it wants the user, the program visits
// the page, hands over what came back and asks again.

import {
  Client,
  ClientCredentialsProvider,
  PrivateKeyJwtProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import {
  argumentsFor,
  context,
  METADATA_URL,
  MUST_REFUSE,
  scenario,
  serverUrl,
  visit,
} from "../scenarios.mjs";

const REDIRECT = "http://127.0.0.1:9/callback";
const { client_id: clientId, client_secret: clientSecret } = context;

class Provider {
  clientMetadataUrl = METADATA_URL;
  redirectUrl = REDIRECT;
  clientMetadata = { client_name: "reference", redirect_uris: [REDIRECT] };
  #client =
    scenario === "auth/pre-registration" ? { client_id: clientId, client_secret: clientSecret } : undefined;
  #tokens;
  #verifier;
  cameBack;

  clientInformation = () => this.#client;
  saveClientInformation = (client) => {
    this.#client = client;
  };
  tokens = () => this.#tokens;
  saveTokens = (tokens) => {
    this.#tokens = tokens;
  };
  codeVerifier = () => this.#verifier;
  saveCodeVerifier = (verifier) => {
    this.#verifier = verifier;
  };
  redirectToAuthorization = async (url) => {
    this.cameBack = new URL(await visit({ url })).searchParams;
  };
}

function provider() {
  if (!scenario.startsWith("auth/")) return undefined;
  if (scenario === "auth/client-credentials-basic") {
    return new ClientCredentialsProvider({ clientId, clientSecret });
  }
  if (scenario === "auth/client-credentials-jwt") {
    const { private_key_pem: privateKey, signing_algorithm: algorithm = "ES256" } = context;
    return new PrivateKeyJwtProvider({ clientId, privateKey, algorithm });
  }
  return new Provider();
}

async function run() {
  const authProvider = provider();
  let transport;
  let client;
  const connect = async () => {
    transport = new StreamableHTTPClientTransport(new URL(serverUrl), { authProvider });
    client = new Client(
      { name: "reference", version: "1.0.0" },
      {
        capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {} },
        versionNegotiation: { mode: "auto" },
      },
    );
    client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: {} }));
    await client.connect(transport);
  };
  /** The user is asked three times at most, as with ours. */
  const authorized = async (work) => {
    for (let tries = 0; ; tries++) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof UnauthorizedError) || tries === 2) throw error;
        await transport.finishAuth(authProvider.cameBack);
      }
    }
  };
  await authorized(connect);
  const { tools } = await authorized(() => client.listTools());
  for (const call of argumentsFor(tools)) await authorized(() => client.callTool(call));
  await client.close();
}

const refusal = await run().then(
  () => undefined,
  (error) => error,
);
if (refusal !== undefined) console.error(refusal);
process.exit((refusal !== undefined) === MUST_REFUSE.has(scenario) ? 0 : 1);
