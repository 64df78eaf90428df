// A registry that is searched: what is found, by whom, and that it follows the registry.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { OperationRegistry, OperationType } from "@alkdev/operations";
import { catalogue, toTools } from "@alkdev/operations/tools";
import { Type } from "@sinclair/typebox";
import { registryOf } from "../support/registry.mjs";

const operation = (id, description, rest = {}) => ({
  namespace: id.split(".")[0],
  name: id.split(".")[1],
  version: "1.0.0",
  type: OperationType.QUERY,
  description,
  inputSchema: Type.Object({}),
  outputSchema: Type.Unknown(),
  accessControl: { requiredScopes: [] },
  handler: () => "done",
  ...rest,
});

const ids = (hits) => hits.map(({ id }) => id);
const MUTATION = { type: OperationType.MUTATION };

const files = () => [
  operation("files.readText", "Reads a text file"),
  operation("files.remove_file", "Removes a file for good", MUTATION),
  operation("mail.send", "Sends a message to somebody", {
    ...MUTATION,
    tags: ["communication"],
    inputSchema: Type.Object({
      recipient: Type.String({ description: "An e-mail address" }),
      subject: Type.Optional(Type.String()),
    }),
  }),
  operation("calendar.listAppointments", "All that is planned for a day"),
];

describe("search", () => {
  it("search shows the parameters of a schema that has several kinds of alternatives", () => {
    const inputSchema = Type.Object(
      { path: Type.String() },
      { allOf: [], anyOf: [{ required: ["path"] }], $defs: {}, definitions: {} },
    );
    const registry = registryOf(operation("files.readText", "Reads a text file", { inputSchema }));
    assert.deepEqual(catalogue(registry).search("file")[0].parameters, ["path"]);
  });

  it("search finds by parts of names, descriptions, tags and parameters", () => {
    const { search } = catalogue(registryOf(...files()));
    for (const [query, expected] of [
      ["read text", "files.readText"],
      ["readText", "files.readText"],
      ["remove_file", "files.remove_file"],
      ["appointments", "calendar.listAppointments"],
      ["what is planned", "calendar.listAppointments"],
      ["communication", "mail.send"],
      ["recipient", "mail.send"],
      ["address", "mail.send"],
    ]) {
      assert.equal(search(query)[0]?.id, expected, query);
    }
  });

  it("search knows other forms of a word, synonyms, prefixes and one wrong letter", () => {
    const { search } = catalogue(registryOf(...files()));
    for (const [query, expected] of [
      ["sending messages", "mail.send"],
      ["delete a document", "files.remove_file"],
      ["appoint", "calendar.listAppointments"],
      ["recipeint", "mail.send"],
    ]) {
      assert.equal(search(query)[0]?.id, expected, query);
    }
  });

  it("search returns what a caller needs to choose", () => {
    const [hit] = catalogue(registryOf(...files())).search("send", { limit: 1 });
    const { score, ...rest } = hit;
    assert.ok(score > 0);
    assert.deepEqual(rest, {
      id: "mail.send",
      type: "mutation",
      description: "Sends a message to somebody",
      tags: ["communication"],
      parameters: ["recipient", "subject?"],
    });
  });

  it("search finds nothing in an empty registry", () => {
    const { search } = catalogue(registryOf(...files()));
    for (const query of ["", "   ", "xylophone", "?!", "\ud800", "the of and"])
      assert.deepEqual(search(query), []);
    assert.deepEqual(catalogue(new OperationRegistry()).search("anything"), []);
  });

  it("search returns no more than the limit, in the same order", () => {
    const many = Array.from({ length: 300 }, (_, i) => operation(`many.thing${i}`, "Does a thing"));
    const { search } = catalogue(registryOf(...many));
    const all = ids(search("thing", { limit: 1_000 }));
    assert.equal(all.length, 300);
    for (const limit of [1, 7, 299]) assert.deepEqual(ids(search("thing", { limit })), all.slice(0, limit));
    assert.equal(search("thing").length, 10);
  });

  it("search refuses what is no query and no limit", () => {
    const { search } = catalogue(registryOf());
    assert.throws(() => search(7), { code: "VALIDATION_ERROR", message: /query must be a string/ });
    for (const limit of [0, -1, 1.5, "3"]) {
      assert.throws(() => search("x", { limit }), { code: "VALIDATION_ERROR", message: /limit/ });
    }
  });

  it("search takes hostile texts", () => {
    const long = "very ".repeat(100_000);
    const registry = registryOf(
      operation("odd.long", long, { tags: [long] }),
      operation("odd.surrogate", 'half \ud83d of "a" pair \\ud83d', { tags: ["\udc00"] }),
      operation("odd.schema", "Takes anything", { inputSchema: Type.Unknown() }),
    );
    const { search, signatures, describe: described } = catalogue(registry);
    assert.deepEqual(ids(search("half pair")), ["odd.surrogate"]);
    assert.deepEqual(ids(search(long)), ["odd.long"]);
    assert.match(signatures({ budget: 500 }), /odd\.surrogate/);
    assert.match(described("odd.surrogate").signature, /half/);
  });
});

describe("a catalogue follows its registry", () => {
  it("a catalogue follows its registry when operations are registered, changed and removed", () => {
    const registry = registryOf(...files());
    const { search, describe: described } = catalogue(registry);
    assert.deepEqual(search("translate"), []);
    registry.register(operation("words.translate", "Translates a word"));
    assert.deepEqual(ids(search("translate")), ["words.translate"]);
    registry.register(operation("words.translate", "Spells a word"));
    assert.deepEqual(ids(search("spell")), ["words.translate"]);
    assert.equal(described("words.translate").description, "Spells a word");
    registry.unregister("words.translate");
    assert.deepEqual(search("spell"), []);
    assert.equal(described("words.translate"), undefined);
  });

  it("a catalogue after many changes is like one that was made afterwards", () => {
    const registry = new OperationRegistry();
    const { search } = catalogue(registry);
    const words = ["apple", "pear", "plum", "cherry", "quince"];
    for (let round = 0; round < 200; round++) {
      const name = words[round % 5];
      registry.register(
        operation(`fruit.${name}`, `${words[(round * 3) % 5]} and ${words[(round * 7 + 1) % 5]}`),
      );
      if (round % 3 === 0) registry.unregister(`fruit.${words[(round * 2) % 5]}`);
      search(name);
    }
    const fresh = catalogue(registry);
    for (const word of words) {
      assert.deepEqual(ids(search(word)).sort(), ids(fresh.search(word)).sort(), word);
    }
  });

  it("a catalogue drops an operation that becomes internal, or loses its handler", () => {
    const registry = registryOf(operation("a.shown", "Turns the lamp on"));
    const { search, describe: described, signatures } = catalogue(registry);
    assert.equal(search("lamp").length, 1);
    registry.register(operation("a.shown", "Turns the lamp on", { visibility: "internal" }));
    registry.registerSpec(operation("a.unable", "Turns the lamp off"));
    assert.deepEqual(search("lamp"), []);
    assert.equal(described("a.shown"), undefined);
    assert.equal(described("a.unable"), undefined);
    assert.doesNotMatch(signatures({ budget: 1_000 }), /lamp/);
    registry.registerHandler("a.unable", () => "off");
    assert.deepEqual(ids(search("lamp")), ["a.unable"]);
  });
});

describe("a catalogue shows what its identity may call", () => {
  const secret = () =>
    operation("vault.open", "Opens the vault", { accessControl: { requiredScopes: ["vault"] } });
  const holder = { id: "h", scopes: ["vault"] };
  const other = { id: "o", scopes: [] };

  it("a catalogue shows what its identity may call, and nothing else", () => {
    const registry = registryOf(secret(), operation("door.open", "Opens the door"));
    assert.deepEqual(ids(catalogue(registry, { identity: holder }).search("open")).sort(), [
      "door.open",
      "vault.open",
    ]);
    const poor = catalogue(registry, { identity: other });
    assert.deepEqual(ids(poor.search("open")), ["door.open"]);
    assert.equal(poor.describe("vault.open"), undefined);
    assert.doesNotMatch(poor.signatures({ budget: 1_000 }), /vault/);
    assert.doesNotMatch(poor.signatures({ budget: 1_000, query: "vault" }), /vault/);
    assert.deepEqual(ids(catalogue(registry).search("vault")), ["vault.open"]);
  });

  it("a catalogue shows what its identity may call even if many better matches are hidden", () => {
    const hidden = Array.from({ length: 500 }, (_, i) => ({ ...secret(), name: `open${i}` }));
    const registry = registryOf(...hidden, operation("z.misc", "May also open"));
    assert.deepEqual(ids(catalogue(registry, { identity: other }).search("open the vault", { limit: 3 })), [
      "z.misc",
    ]);
  });

  it("a catalogue shows what its identity may call after rules were added", () => {
    const registry = registryOf(operation("door.open", "Opens the door"));
    const { search } = catalogue(registry, { identity: other });
    assert.equal(search("door").length, 1);
    registry.protect("door.*", { requiredScopes: ["keys"] });
    assert.deepEqual(search("door"), []);
  });
});

describe("asOperations", () => {
  function served() {
    const registry = new OperationRegistry({ trustDirectCalls: true });
    registry.registerAll([
      operation("math.add", "Adds two numbers", {
        inputSchema: Type.Object({ a: Type.Number(), b: Type.Number() }),
        outputSchema: Type.Number(),
        handler: ({ a, b }) => a + b,
      }),
      operation("vault.open", "Opens the vault", {
        ...MUTATION,
        accessControl: { requiredScopes: ["vault"] },
        handler: () => "open",
      }),
      operation("hidden.core", "Not for anybody", { visibility: "internal" }),
      operation("clock.ticks", "Counts", {
        type: OperationType.SUBSCRIPTION,
        handler: async function* () {
          for (let i = 0; ; i++) yield i;
        },
      }),
    ]);
    const front = new OperationRegistry();
    front.registerAll(catalogue(registry).asOperations());
    return { registry, front };
  }
  const caller = { identity: { id: "c", scopes: [] } };

  it("asOperations are search, describe and call", async () => {
    const { front } = served();
    assert.deepEqual(
      front.list().map(({ namespace, name }) => `${namespace}.${name}`),
      ["catalogue.search", "catalogue.describe", "catalogue.call"],
    );
    const { data: hits } = await front.execute("catalogue.search", { query: "add numbers" }, caller);
    assert.deepEqual(hits[0], {
      id: "math.add",
      type: "query",
      description: "Adds two numbers",
      parameters: ["a", "b"],
    });
    const { data: described } = await front.execute("catalogue.describe", { id: "math.add" }, caller);
    assert.match(described.signature, /"math\.add"\(input: \{ a: number; b: number; \}\): Promise<number>;/);
    assert.equal(described.inputSchema, undefined);
    const { data, meta } = await front.execute(
      "catalogue.call",
      { id: "math.add", input: { a: 1, b: 2 } },
      caller,
    );
    assert.equal(data, 3);
    assert.equal(meta.operationId, "math.add");
  });

  it("asOperations take an input that a model wrote as text", async () => {
    const { front } = served();
    const call = (input) => front.execute("catalogue.call", { id: "math.add", input }, caller);
    assert.equal((await call('{"a": 1, "b": 2}')).data, 3);
    await assert.rejects(call('{"a": 1, "b"'), { code: "VALIDATION_ERROR" });
    await assert.rejects(call({ a: 1 }), { code: "VALIDATION_ERROR", message: /b/ });
  });

  it("asOperations check access at the call, whatever was found and trusted", async () => {
    const { front } = served();
    const call = (context) => front.execute("catalogue.call", { id: "vault.open" }, context);
    await assert.rejects(call(caller), { code: "OPERATION_NOT_FOUND" });
    await assert.rejects(call({ trusted: true }), { code: "OPERATION_NOT_FOUND" });
    await assert.rejects(call({}), { code: "OPERATION_NOT_FOUND" });
    assert.equal((await call({ identity: { id: "v", scopes: ["vault"] } })).data, "open");
    const { data } = await front.execute("catalogue.search", { query: "vault" }, caller);
    assert.deepEqual(data, []);
  });

  it("asOperations know no internal operations, and not themselves", async () => {
    const { front, registry } = served();
    registry.registerAll(catalogue(registry).asOperations({ namespace: "own" }));
    for (const id of ["hidden.core", "own.call", "nothing.there"]) {
      await assert.rejects(front.execute("catalogue.call", { id }, caller), { code: "OPERATION_NOT_FOUND" });
      await assert.rejects(front.execute("catalogue.describe", { id }, caller), {
        code: "OPERATION_NOT_FOUND",
      });
    }
    assert.deepEqual(ids(catalogue(registry).search("call describe search")), []);
  });

  it("asOperations suggest the id that was probably meant", async () => {
    const { front } = served();
    await assert.rejects(front.execute("catalogue.call", { id: "math.ad" }, caller), {
      message: /math\.add/,
    });
  });

  it("asOperations return the first events of a stream, and end it", async () => {
    const { front } = served();
    const { data } = await front.execute("catalogue.call", { id: "clock.ticks" }, caller);
    assert.deepEqual(data.slice(0, 3), [0, 1, 2]);
  });

  it("asOperations are tools for every target", async () => {
    const { front } = served();
    for (const target of ["openai", "openai-strict", "anthropic", "gemini", "mcp", "json-schema"]) {
      const { tools, call } = toTools(front, { target });
      assert.equal(tools.length, 3, target);
      const strict = target === "openai-strict" || target === "gemini";
      const input = strict ? JSON.stringify({ a: 20, b: 22 }) : { a: 20, b: 22 };
      const { envelope, content } = await call("catalogue_call", { id: "math.add", input }, caller);
      assert.equal(envelope?.data, 42, `${target}: ${JSON.stringify(content)}`);
    }
  });
});
