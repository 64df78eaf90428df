// `introspection`: a server that is asked about tokens (`crates/operations-serve/src/identity/introspection.rs`).

import {
  aName,
  aPatience,
  type Check,
  checkedOptions,
  type Fields,
  must,
  required,
} from "../interop/options.js";
import { claimNames, isSecureUrl, type JwtClaims, someAudience } from "./jwt.js";

/**
 * An authorization server that is asked about tokens (RFC 7662), for those that only it can read.
 *
 * @example
 * ```ts
 * const introspection: ServeIntrospection = {
 *   url: "https://login.example.com/oauth2/introspect",
 *   clientId: "tasks",
 *   clientSecret: process.env.CLIENT_SECRET ?? "",
 * };
 * ```
 */
export interface ServeIntrospection {
  /** Its introspection endpoint. Plain http is accepted for this machine only. */
  url: string;
  /** How this server shows who it is (HTTP Basic). */
  clientId: string;
  clientSecret: string;
  /**
   * How long an answer holds, in milliseconds (default 60,000; 0 to ask for each request), but not after the token expires. A
   * revoked token is accepted for so long.
   */
  cache?: number;
  /** Who a token must be for: one of these is in `aud` of the answer (default: the answer is not asked). */
  audience?: string | readonly string[];
  /** Which members of the answer are the identity (default `sub`, and `scope` or `scp`). */
  claims?: JwtClaims;
}

const FIELDS: Fields<ServeIntrospection> = {
  url: required(must("a URL with https:// (http:// is for this machine only)", isSecureUrl)),
  clientId: required(aName),
  clientSecret: required(aName),
  cache: aPatience,
  audience: someAudience,
  claims: claimNames,
};

/** Checks `introspection`. */
export const someIntrospection: Check = (value, path) =>
  checkedOptions<ServeIntrospection>(value, FIELDS, { prefix: `${path}.` });

/** The options for the native side. */
export function nativeIntrospection(options: ServeIntrospection | undefined): object | undefined {
  return options && { ...options, audience: options.audience && [options.audience].flat() };
}
