// Certificates, by the same names in every transport and source.

import { readFileSync } from "node:fs";
import { aSecret, type Fields, isListOf, isString, must, refusal } from "./options.js";
import { aFileToRead } from "./permission.js";
import { messageOf } from "./text.js";

/**
 * Certificates in PEM form, as text or as a file.
 *
 * @example
 * ```ts
 * const tls: TLSOptions = { caFile: "/etc/ssl/our-ca.pem", certFile: "/etc/ssl/me.pem", keyFile: "/etc/ssl/me.key" };
 * ```
 */
export interface TLSOptions {
  /** Certificates of authorities. Without them the system's are trusted. */
  ca?: string;
  caFile?: string;
  /** A certificate of our own, with its key. */
  cert?: string;
  certFile?: string;
  key?: string;
  keyFile?: string;
}

/** Which authorities are trusted. */
export type Authorities = Pick<TLSOptions, "ca" | "caFile">;

export const AUTHORITIES: Fields<Authorities> = { ca: aSecret, caFile: aFileToRead };
export const TLS_FIELDS: Fields<TLSOptions> = {
  ...AUTHORITIES,
  cert: aSecret,
  certFile: aFileToRead,
  key: aSecret,
  keyFile: aFileToRead,
};
export const someCertificates = must(
  "PEM text, or a list of such",
  (value) => isString(value) || isListOf(value, isString),
);

/** The certificates as text. `prefix` begins the path in messages: `connectHub: tls.`. */
export function tlsTexts(
  tls: TLSOptions | undefined,
  prefix: string,
): { ca: string | undefined; cert: string | undefined; key: string | undefined } | undefined {
  return (
    tls && {
      ca: textOf(tls, "ca", prefix),
      cert: textOf(tls, "cert", prefix),
      key: textOf(tls, "key", prefix),
    }
  );
}

function textOf(tls: TLSOptions, name: "ca" | "cert" | "key", prefix: string): string | undefined {
  const file = tls[`${name}File`];
  if (file === undefined) return tls[name];
  const path = `${prefix}${name}File`;
  if (tls[name] !== undefined) throw refusal(path, `and ${name} exclude each other`);
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw refusal(path, `cannot be read: ${messageOf(error)}`);
  }
}
