// Certificates for tests, made on the spot so that no key lies in the repository: an authority, and a certificate for
// localhost that it has signed. As little of X.509 as a strict client asks for.

import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

const tlv = (tag, ...contents) => {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
};
const sequence = (...parts) => tlv(0x30, ...parts);
const oid = (...bytes) => tlv(0x06, Buffer.from(bytes));
const integer = (bytes) => tlv(0x02, Buffer.from(bytes));
const octets = (content) => tlv(0x04, content);
const time = (date) => tlv(0x18, Buffer.from(`${date.toISOString().replace(/[-:T]|\.\d+/g, "")}`));
const bits = (content) => tlv(0x03, Buffer.from([0]), content);

const ECDSA_SHA256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
const COMMON_NAME = oid(0x55, 0x04, 0x03);
const name = (text) => sequence(tlv(0x31, sequence(COMMON_NAME, tlv(0x0c, Buffer.from(text)))));
const extension = (last, critical, value) =>
  sequence(oid(0x55, 0x1d, last), ...(critical ? [tlv(0x01, Buffer.from([255]))] : []), octets(value));

function certificate({ subject, issuer, publicKey, signer, extensions, at: now = Date.now() }) {
  const day = 86_400_000;
  const content = sequence(
    tlv(0xa0, integer([2])),
    integer([1, ...randomBytes(8)]),
    ECDSA_SHA256,
    name(issuer),
    sequence(time(new Date(now - day)), time(new Date(now + day))),
    name(subject),
    publicKey.export({ type: "spki", format: "der" }),
    tlv(0xa3, sequence(...extensions)),
  );
  const signature = sign("sha256", content, signer);
  const base64 = sequence(content, ECDSA_SHA256, bits(signature)).toString("base64");
  return `-----BEGIN CERTIFICATE-----\n${base64.match(/.{1,64}/g).join("\n")}\n-----END CERTIFICATE-----\n`;
}

/** `{ ca, cert, key }`, all PEM. */
export function makeCertificates() {
  const keys = () => generateKeyPairSync("ec", { namedCurve: "P-256" });
  const authority = keys();
  const leaf = keys();
  const isAuthority = extension(0x13, true, sequence(tlv(0x01, Buffer.from([255]))));
  const signsCertificates = extension(0x0f, true, tlv(0x03, Buffer.from([1, 6])));
  const names = extension(0x11, false, sequence(tlv(0x82, Buffer.from("localhost"))));
  const shared = { issuer: "operations test authority", signer: authority.privateKey };
  return {
    ca: certificate({
      ...shared,
      subject: "operations test authority",
      publicKey: authority.publicKey,
      extensions: [isAuthority, signsCertificates],
    }),
    cert: certificate({ ...shared, subject: "localhost", publicKey: leaf.publicKey, extensions: [names] }),
    key: leaf.privateKey.export({ type: "pkcs8", format: "pem" }),
  };
}

/** What `openssl req -x509` makes: a certificate for localhost that has signed itself, and is marked as an authority's. */
export function makeOwnCertificate({ expired = false } = {}) {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const isAuthority = extension(0x13, true, sequence(tlv(0x01, Buffer.from([255]))));
  const names = extension(0x11, false, sequence(tlv(0x82, Buffer.from("localhost"))));
  const cert = certificate({
    subject: "localhost",
    issuer: "localhost",
    signer: privateKey,
    publicKey,
    extensions: [isAuthority, names],
    at: expired ? Date.now() - 7 * 86_400_000 : Date.now(),
  });
  return { cert, key: privateKey.export({ type: "pkcs8", format: "pem" }) };
}
