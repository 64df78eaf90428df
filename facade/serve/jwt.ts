// `jwt`: issuers whose tokens are accepted. Tokens are verified by native code (`crates/operations-serve/src/identity/jwt.rs`).

import { isIdentity } from "../call/incoming.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import {
  aList,
  aName,
  type Check,
  checkedOptions,
  type Fields,
  group,
  isListOf,
  isRecord,
  isString,
  must,
  refusal,
  required,
} from "../interop/options.js";
import { kindOf } from "../interop/text.js";
import type { Identity } from "../types.js";

/**
 * The claims that make an identity.
 *
 * @example
 * ```ts
 * const claims: JwtClaims = { id: "email", scopes: "permissions" };
 * ```
 */
export interface JwtClaims {
  /** The claim with the id of the caller (default `sub`). A token without it is refused. */
  id?: string;
  /** The claim with the scopes, as a list or as words in a string (default `scope`, else `scp`). */
  scopes?: string;
  /** The claim with the resources, an object with a list of actions for each (default: none). */
  resources?: string;
  /** Claims that the identity gets as its `claims`, for conditions of access rules and for handlers (default: none). */
  keep?: readonly string[];
}

/**
 * An issuer whose tokens (JWT) are accepted. A token needs `iss`, `aud` and `exp`, and a signature of one of the issuer's keys.
 *
 * @example
 * ```ts
 * const jwt: ServeJwt = { issuer: "https://login.example.com", audience: "https://api.example.com" };
 * ```
 */
export interface ServeJwt {
  /** The `iss` of its tokens. */
  issuer: string;
  /** Who a token must be for: one of these is in its `aud`. */
  audience: string | readonly string[];
  /**
   * The URL of the issuer's keys, or a key set. Without it, the OpenID or RFC 8414 metadata of the issuer says where they are.
   * Plain http is accepted for this machine only.
   */
  jwks?: string | { readonly keys: readonly object[] };
  /**
   * The signature algorithms (default: all public ones that are supported). `HS256`, `HS384` and `HS512` must be named, and need a
   * secret (`kty: "oct"`) in a key set of the configuration.
   */
  algorithms?: readonly JwtAlgorithm[];
  /**
   * Which claims are the identity, or a function that makes one of all claims, or nothing to refuse the token. It is called once
   * for a token.
   */
  claims?: JwtClaims | ((claims: Readonly<Record<string, unknown>>) => JwtIdentity | Promise<JwtIdentity>);
  /** How far the clocks of issuer and server may differ, in milliseconds (default 0). */
  clockTolerance?: number;
}

type JwtOption = ServeJwt | readonly ServeJwt[] | undefined;
type JwtIdentity = Identity | undefined | null;

const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "EdDSA",
  "Ed25519",
  "HS256",
  "HS384",
  "HS512",
] as const;

/**
 * A signature algorithm of tokens.
 *
 * @example
 * ```ts
 * const algorithms: JwtAlgorithm[] = ["ES256", "EdDSA"];
 * ```
 */
export type JwtAlgorithm = (typeof ALGORITHMS)[number];

/** Whether an address is https, or http of this machine. */
export function isSecureUrl(value: unknown): value is string {
  if (!isString(value) || !URL.canParse(value)) return false;
  const { protocol, hostname } = new URL(value);
  const isLoopback = hostname === "localhost" || hostname === "[::1]" || /^127\.[\d.]+$/.test(hostname);
  return protocol === "https:" || (protocol === "http:" && isLoopback);
}

const isNames = (value: unknown) => isListOf(value, (name) => isString(name) && name !== "");

export const claimNames = group<JwtClaims>({ id: aName, scopes: aName, resources: aName, keep: aList });

export const someAudience = must(
  "a name, or a list with at least one",
  (value) => (isString(value) && value !== "") || (isNames(value) && (value as string[]).length > 0),
);

const FIELDS: Fields<ServeJwt> = {
  issuer: required(aName),
  audience: required(someAudience),
  jwks: must(
    "a key set, or a URL with https:// (http:// is for this machine only)",
    (value) =>
      isSecureUrl(value) || (isRecord(value) && Array.isArray(value.keys) && value.keys.every(isRecord)),
  ),
  algorithms: must(`a list of ${ALGORITHMS.join(", ")}`, (value) =>
    isListOf(value, (name) => (ALGORITHMS as readonly unknown[]).includes(name)),
  ),
  claims: (value, path) => (typeof value === "function" ? value : claimNames(value, path)),
  clockTolerance: must("a number of milliseconds from 0", (value) => value === 0 || isDuration(value)),
};

function isDuration(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value) && value > 0;
}

/** Checks `jwt`. */
export const someJwt: Check = (value, path) => {
  const issuers = [value].flat().map((each, index) => {
    const at = Array.isArray(value) ? `${path}[${index}]` : path;
    const checked = checkedOptions<ServeJwt>(each, FIELDS, { prefix: `${at}.` });
    if (checked.jwks === undefined && !isSecureUrl(checked.issuer)) {
      throw refusal(`${at}.issuer`, "must be an https URL, where its keys are found, unless jwks has them");
    }
    return checked;
  });
  if (issuers.length === 0) throw refusal(path, "must have at least one issuer");
  if (new Set(issuers.map(({ issuer }) => issuer)).size < issuers.length) {
    throw refusal(path, "has an issuer twice: give it a list of audiences");
  }
  return issuers;
};

/** The issuers for the native side. */
export function nativeJwt(jwt: JwtOption): object[] {
  return issuersOf(jwt).map(({ claims, audience, ...options }) => ({
    ...options,
    audience: [audience].flat(),
    ...(typeof claims === "function" ? { mapsClaims: true } : { claims }),
  }));
}

/** The protected resource that follows from `jwt`, where an audience is a URL. */
export function oauthOfJwt(jwt: JwtOption): object | undefined {
  const issuers = issuersOf(jwt);
  const resource = issuers
    .flatMap(({ audience }) => audience)
    .find((each) => /^https?:\/\/[^\s"\\]+$/.test(each));
  return resource === undefined
    ? undefined
    : { resource, authorizationServers: issuers.map(({ issuer }) => issuer) };
}

function issuersOf(jwt: JwtOption): ServeJwt[] {
  return jwt === undefined ? [] : ([jwt].flat() as ServeJwt[]);
}

/** Claims that native code has verified. */
export interface ClaimsRequest {
  issuer: number;
  claims: Record<string, unknown>;
}

/** The identity that the user's function makes of claims, as the native side reads it. */
export async function mapClaims(jwt: JwtOption, { issuer, claims }: ClaimsRequest): Promise<string> {
  const map = issuersOf(jwt)[issuer]?.claims;
  const identity = typeof map === "function" ? await map(claims) : undefined;
  if (identity !== undefined && identity !== null && !isIdentity(identity)) {
    throw new CallError(
      InfrastructureErrorCode.EXECUTION_ERROR,
      `claims returned ${kindOf(identity)}, which is not an identity. Return { id, scopes, resources? }`,
    );
  }
  return JSON.stringify(identity ?? null);
}
