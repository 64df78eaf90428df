// Accounts as an operator of NATS makes them: tokens that are signed by keys, and a server that knows the operator's.

import { nkeys } from "nats";

const decoder = new TextDecoder();

function token(issuer, subject, claims, expires) {
  const write = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const now = Math.floor(Date.now() / 1000);
  const body = {
    jti: `${subject}-${expires}`,
    iat: now,
    iss: issuer.getPublicKey(),
    sub: subject,
    name: "test",
    ...(expires === undefined ? {} : { exp: expires }),
    nats: { ...claims, version: 2 },
  };
  const signed = `${write({ typ: "JWT", alg: "ed25519-nkey" })}.${write(body)}`;
  return `${signed}.${Buffer.from(issuer.sign(Buffer.from(signed))).toString("base64url")}`;
}

/** An operator with one account: what goes into the server's configuration, and how to make users. */
export function makeOperator() {
  const [operator, account] = [nkeys.createOperator(), nkeys.createAccount()];
  const unlimited = { subs: -1, data: -1, payload: -1 };
  const limits = { ...unlimited, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
  const operatorToken = token(operator, operator.getPublicKey(), { type: "operator" });
  const accountToken = token(operator, account.getPublicKey(), { type: "account", limits });
  return {
    config: `operator: ${operatorToken}\nresolver: MEMORY\nresolver_preload: { ${account.getPublicKey()}: ${accountToken} }\n`,
    /** The text of a credentials file. `expires` is in seconds since the epoch. */
    credentials(expires) {
      const user = nkeys.createUser();
      const jwt = token(
        account,
        user.getPublicKey(),
        { type: "user", pub: {}, sub: {}, ...unlimited },
        expires,
      );
      return [
        "-----BEGIN NATS USER JWT-----",
        jwt,
        "------END NATS USER JWT------",
        "",
        "-----BEGIN USER NKEY SEED-----",
        decoder.decode(user.getSeed()),
        "------END USER NKEY SEED------",
        "",
      ].join("\n");
    },
  };
}
