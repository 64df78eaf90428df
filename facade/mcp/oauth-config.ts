// How a server gets its token, as users configure it.

import {
  aBoolean,
  aFunction,
  aList,
  anObject,
  aSecret,
  aString,
  type Check,
  group,
  oneOf,
  refusal,
  required,
} from "../interop/options.js";
import type { MCPTokenStore } from "../interop/token-store.js";

export type { MCPTokenStore };

/**
 * Credentials of a program without a user: a secret or a private key.
 *
 * @example
 * ```ts
 * const clientCredentials: MCPClientCredentials = { clientId: "hub", clientSecret: process.env["MCP_SECRET"] ?? "" };
 * ```
 */
export type MCPClientCredentials = { clientId: string } & (
  | { clientSecret: string; privateKey?: undefined; algorithm?: undefined }
  | {
      clientSecret?: undefined;
      /** A private key, as PKCS #8 in PEM. */
      privateKey: string;
      /** The signature algorithm of the key (default `"ES256"`). */
      algorithm?: "ES256" | "ES384" | "RS256" | "RS384" | "RS512";
    }
);

/**
 * A program that its platform vouches for (workload identity federation): what the platform says is exchanged for a token.
 *
 * @example
 * ```ts
 * import { readFile } from "node:fs/promises";
 *
 * const workload: MCPWorkload = { clientId: "nightly", token: () => readFile("/var/run/secrets/tokens/mcp", "utf8") };
 * ```
 */
export interface MCPWorkload {
  /** The name that the authorization server knows the program by. */
  clientId: string;
  /** Returns the JWT of the platform. Called whenever a new token is needed. */
  token(): string | Promise<string>;
}

/**
 * A user whose company vouches for them (enterprise-managed authorization): the identity provider's ID token is exchanged for an
 * assertion there, and that for a token at the server's authorization server. The user is not asked.
 *
 * @example
 * ```ts
 * const enterprise: MCPEnterprise = {
 *   clientId: "hub",
 *   idp: { issuer: "https://login.example", tokenEndpoint: "https://login.example/token", clientId: "hub-at-login" },
 *   idToken: async () => "the ID token of the user's session",
 * };
 * ```
 */
export interface MCPEnterprise {
  /** The name of the program at the server's authorization server, and its secret there. */
  clientId: string;
  clientSecret?: string;
  /** The company's identity provider. */
  idp: { issuer: string; tokenEndpoint: string; clientId: string; clientSecret?: string };
  /** Returns the user's ID token. Called whenever a new token is needed. */
  idToken(): string | Promise<string>;
}

/**
 * How to get a token for a server that requires one (OAuth 2.1): from the user, or with the program's own credentials.
 *
 * @example
 * ```ts
 * const oauth: MCPOAuthConfig = { clientCredentials: { clientId: "hub", clientSecret: "..." } };
 * ```
 */
export type MCPOAuthConfig = OAuthSettings &
  (
    | {
        /** Shows the page to the user, in a browser. Without it, the server's status is `needs-auth`. Resolve with the address that the browser was sent to
         * afterwards, if the program sees it; otherwise with nothing, and a port of this machine receives it. */
        onAuthorize?(page: {
          server: string;
          url: string;
          redirectUrl: string;
          // biome-ignore lint/suspicious/noConfusingVoidType: callbacks that return nothing are what most people write
        }): string | void | Promise<string | void>;
        clientCredentials?: undefined;
        workload?: undefined;
        enterprise?: undefined;
      }
    | {
        /** Credentials of the program, if there is no user. */
        clientCredentials: MCPClientCredentials;
        onAuthorize?: undefined;
        workload?: undefined;
        enterprise?: undefined;
      }
    | {
        /** In place of a user: what the platform says about the program. */
        workload: MCPWorkload;
        onAuthorize?: undefined;
        clientCredentials?: undefined;
        enterprise?: undefined;
      }
    | {
        /** In place of asking the user: what the company says about them. */
        enterprise: MCPEnterprise;
        onAuthorize?: undefined;
        clientCredentials?: undefined;
        workload?: undefined;
      }
  );

interface OAuthSettings {
  /** Without one, tokens live as long as the client. */
  tokenStore?: MCPTokenStore;
  /** A client that was registered by hand; otherwise one is registered when needed. */
  clientId?: string;
  clientSecret?: string;
  /** Where the description of the client can be read (HTTPS): authorization servers that take it need no
   * registration. */
  clientMetadataUrl?: string;
  scopes?: string[];
  /** Where the browser is sent afterwards. By default a port of this machine. */
  redirectUrl?: string;
  /** The name that the user sees. */
  clientName?: string;
  /** Whether tokens are bound to a key of this client (DPoP, RFC 9449), so that a stolen token is useless. The key is kept with the
   * tokens. Authorization servers that do not know it hand out plain tokens, which are used as such. */
  dpop?: boolean;
}

/** Files that other programs read too have more in them. What is not misspelt is theirs. */
export const ignored = () => {};
const credentials = group<MCPClientCredentials>(
  {
    clientId: required(aString),
    clientSecret: aSecret,
    privateKey: aSecret,
    algorithm: oneOf("ES256", "ES384", "RS256", "RS384", "RS512"),
  },
  ignored,
);
const oauthFields = group<MCPOAuthConfig>(
  {
    onAuthorize: aFunction,
    tokenStore: anObject,
    clientId: aString,
    clientSecret: aSecret,
    clientMetadataUrl: aString,
    clientCredentials: (value, path) => {
      const checked = credentials(value, path) as MCPClientCredentials;
      if ((checked.clientSecret === undefined) === (checked.privateKey === undefined)) {
        throw refusal(path, "must have either clientSecret or privateKey");
      }
      return checked;
    },
    workload: group<MCPWorkload>({ clientId: required(aString), token: required(aFunction) }, ignored),
    enterprise: group<MCPEnterprise>(
      {
        clientId: required(aString),
        clientSecret: aSecret,
        idp: required(
          group<MCPEnterprise["idp"]>(
            {
              issuer: required(aString),
              tokenEndpoint: required(aString),
              clientId: required(aString),
              clientSecret: aSecret,
            },
            ignored,
          ),
        ),
        idToken: required(aFunction),
      },
      ignored,
    ),
    dpop: aBoolean,
    scopes: aList,
    redirectUrl: aString,
    clientName: aString,
  },
  ignored,
);

/** Where tokens come from: one of them. */
const WAYS = ["onAuthorize", "clientCredentials", "workload", "enterprise"] as const;

/** Refuses an invalid configuration, or one with several sources of tokens. */
export const anOAuth: Check = (value, path) => {
  const checked = oauthFields(value, path) as MCPOAuthConfig;
  const ways = WAYS.filter((way) => checked[way] !== undefined);
  if (ways.length > 1) throw refusal(path, `must have one way to a token, and has ${ways.join(" and ")}`);
  if (checked.enterprise !== undefined && checked.dpop === true) {
    throw refusal(`${path}.dpop`, "cannot be combined with enterprise");
  }
  return checked;
};

/** What of it must be shown nowhere. */
export function secretsOfOAuth(
  oauth: Pick<MCPOAuthConfig, "clientSecret" | "clientCredentials" | "enterprise"> | undefined,
): string[] {
  const { clientSecret, privateKey } = oauth?.clientCredentials ?? {};
  const { clientSecret: own, idp } = oauth?.enterprise ?? {};
  return [oauth?.clientSecret, clientSecret, privateKey, own, idp?.clientSecret].filter(
    (secret) => secret !== undefined,
  );
}
