// Operations say what they demand of a caller. The rules fail closed.

import { checkAccess, enforceAccess } from "@alkdev/operations";
import { say, show } from "./show.mjs";

export default function access() {
  const rules = { requiredScopes: ["tasks:write"], resourceType: "project", resourceAction: "edit" };
  const owner = { id: "ada", scopes: ["tasks:write"], resources: { "project:42": ["read", "edit"] } };
  const guest = { id: "bob", scopes: ["tasks:read"] };

  say("Who may?");
  show("owner", checkAccess(rules, owner));
  show("guest", checkAccess(rules, guest));
  show("anonymous", checkAccess(rules));

  say("A denial names what was missing, never what the caller holds:");
  for (const identity of [guest, undefined]) {
    try {
      enforceAccess(rules, identity, "tasks.update");
    } catch ({ code, message }) {
      show(code, message);
    }
  }
}
