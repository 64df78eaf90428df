// Documents in files, and the files that they refer to.

import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { FromOpenAPIFile } from "@alkdev/operations";
import { configure, reset } from "@logtape/logtape";
import { notOn } from "../support/skips.mjs";
import { plain } from "./support/documents.mjs";

const config = { namespace: "t" };
const document = (reference) =>
  JSON.stringify({
    openapi: "3.0.3",
    info: { version: "1" },
    paths: {
      "/pets": {
        get: { responses: { 200: { content: { "application/json": { schema: { $ref: reference } } } } } },
      },
    },
  });

let folder;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "operations-openapi-"));
});
after(() => rm(folder, { recursive: true, force: true }));

/** Writes files below the folder of these tests and gives the path of the first. */
async function write(files) {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return join(folder, Object.keys(files)[0]);
}

describe("FromOpenAPIFile", () => {
  it("FromOpenAPIFile reads JSON and YAML, whatever the file is called", async () => {
    const json = await write({ "a/notes.txt": document("#") });
    const yaml = await write({
      "a/api.json": "openapi: 3.0.0\npaths: { /a: { get: { operationId: yaml } } }",
    });
    assert.equal((await FromOpenAPIFile(json, config))[0].name, "get_pets");
    assert.equal((await FromOpenAPIFile(yaml, config))[0].name, "yaml");
  });

  it("FromOpenAPIFile reads the files that it refers to, and those that they refer to", async () => {
    const path = await write({
      "b/api.json": document("./schemas/pet.yaml#/Pet"),
      "b/schemas/pet.yaml":
        "Pet:\n  properties:\n    toy: { $ref: ../toy%20box.json }\n    parent: { $ref: '#/Pet' }\n",
      "b/toy box.json": '{ "type": "string" }',
    });
    const [{ outputSchema }] = await FromOpenAPIFile(path, config);
    const schema = plain(outputSchema);
    assert.deepEqual(Object.keys(schema.properties), ["toy", "parent"]);
    assert.deepEqual(schema.$defs["toy_20box.json"] ?? schema.$defs["toy_box.json"], { type: "string" });
    assert.doesNotMatch(JSON.stringify(schema), /yaml/);
  });

  it("FromOpenAPIFile reads through the injected file system, by paths from the document's own", async () => {
    const files = {
      "docs/api.json": document("schemas/pet.json"),
      "docs/schemas/pet.json": '{ "title": "Pet" }',
    };
    const asked = [];
    const fs = {
      async readFile(path) {
        asked.push(path.replaceAll("\\", "/"));
        return files[path.replaceAll("\\", "/")];
      },
    };
    const [{ outputSchema }] = await FromOpenAPIFile("docs/api.json", config, fs);
    assert.equal(outputSchema.title, "Pet");
    assert.deepEqual(asked, Object.keys(files));
  });

  it("FromOpenAPIFile takes Node's own fs.promises for a file system", async () => {
    const path = await write({ "c/api.json": document("#") });
    assert.equal((await FromOpenAPIFile(path, config, { readFile })).length, 1);
  });

  it("FromOpenAPIFile refuses a file that is missing, a folder, no text, or too large, and says so", async () => {
    const large = await write({ "d/large.json": document("#") });
    const binary = join(folder, "d/binary.json");
    await writeFile(binary, Buffer.from([0x7b, 0xff, 0xfe]));
    const cases = [
      [
        join(folder, "none.json"),
        {},
        "EXECUTION_ERROR",
        /^Cannot read the OpenAPI document .*none\.json: ENOENT/,
      ],
      [join(folder, "d"), {}, "EXECUTION_ERROR", /Cannot read the OpenAPI document .*(not a file|EISDIR)/],
      [binary, {}, "VALIDATION_ERROR", /not UTF-8 text \(byte 1\)/],
      [large, { maxDocumentBytes: 20 }, "EXECUTION_ERROR", /maxDocumentBytes/],
      ["", {}, "VALIDATION_ERROR", /the path must be a string/],
    ];
    for (const [path, more, code, message] of cases) {
      await assert.rejects(FromOpenAPIFile(path, { ...config, ...more }), { code, message });
    }
  });

  it("FromOpenAPIFile refuses a file system that returns something else", async () => {
    const fs = { readFile: async () => ({}) };
    await assert.rejects(FromOpenAPIFile("x.json", config, fs), {
      code: "EXECUTION_ERROR",
      message: /fs\.readFile returned object instead of a string/,
    });
  });
});

describe("a reference to another file", () => {
  let lines;
  before(async () => {
    await configure({
      sinks: { list: (record) => lines.push(record.message.join("")) },
      loggers: [
        { category: "operations", sinks: ["list"], lowestLevel: "debug" },
        { category: ["logtape", "meta"], sinks: [] },
      ],
    });
  });
  after(() => reset());

  /** Whether the schema behind the reference was used, and what the log said. */
  async function refer(reference, more = {}) {
    lines = [];
    const path = await write({
      "inner/api.json": document(reference),
      "secret.json": '{ "title": "secret" }',
      "inner/near.json": '{ "title": "near" }',
    });
    const [{ outputSchema }] = await FromOpenAPIFile(path, { ...config, ...more });
    return { title: outputSchema.title, log: lines.join("\n") };
  }

  const outside = [
    "../secret.json",
    "./../secret.json",
    "a/../../secret.json",
    "%2e%2e/secret.json",
    "..%2fsecret.json",
    "%2E%2E%2Fsecret.json#",
    ".././inner/../secret.json",
  ];
  for (const reference of outside) {
    it(`a reference ${reference} is not followed out of the folder, unless that is allowed`, async () => {
      const refused = await refer(reference);
      assert.equal(refused.title, undefined);
      assert.match(refused.log, /outside the document's folder/);
      assert.match(refused.log, /was degraded/);
      assert.equal((await refer(reference, { allowOutsideFolder: true })).title, "secret");
    });
  }

  it("a reference by an absolute path is outside the folder", async () => {
    const { title, log } = await refer(join(folder, "secret.json"));
    assert.equal(title, undefined);
    assert.match(log, /outside the document's folder/);
    const inside = await refer(join(folder, "inner/near.json"));
    assert.equal(inside.title, "near");
  });

  it("a reference that is a URL is not fetched", async () => {
    for (const reference of [
      "http://127.0.0.1:9/x.json",
      "https://127.0.0.1:9/x.json",
      "file:///etc/hostname",
    ]) {
      const { title, log } = await refer(reference, { allowOutsideFolder: true });
      assert.equal(title, undefined);
      assert.match(log, /only files are read/);
    }
  });

  it("a reference through a symbolic link out of the folder is not followed", {
    skip: notOn("win32"),
  }, async () => {
    await write({ "inner/api.json": document("#"), "elsewhere/deep.json": '{ "title": "secret" }' });
    await symlink(join(folder, "secret.json"), join(folder, "inner/link.json"));
    await symlink(join(folder, "elsewhere"), join(folder, "inner/linked"));
    for (const reference of ["link.json", "linked/deep.json", "linked/../../secret.json"]) {
      const { title, log } = await refer(reference);
      assert.equal(title, undefined, reference);
      assert.match(log, /outside the document's folder/, reference);
    }
    assert.equal((await refer("link.json", { allowOutsideFolder: true })).title, "secret");
  });

  it("a reference in a folder that is itself behind a link is followed", {
    skip: notOn("win32"),
  }, async () => {
    const path = await write({
      "real/api.json": document("near.json"),
      "real/near.json": '{ "title": "near" }',
    });
    await symlink(dirname(path), join(folder, "alias"));
    const [{ outputSchema }] = await FromOpenAPIFile(join(folder, "alias/api.json"), config);
    assert.equal(outputSchema.title, "near");
  });

  it("a reference to a file that is missing, broken or too large degrades what needs it", async () => {
    await write({
      "inner/broken.json": '{ "title": ',
      "inner/big.json": JSON.stringify({ title: "x".repeat(10_000) }),
    });
    for (const [reference, reason] of [
      ["gone.json", /ENOENT/],
      ["broken.json", /not valid JSON/],
      ["big.json", /maxDocumentBytes/],
      ["nul%00.json", /null byte|Path contains|without null bytes/i],
    ]) {
      const { title, log } = await refer(reference, { maxDocumentBytes: 5000 });
      assert.equal(title, undefined);
      assert.match(log, reason, reference);
      assert.match(log, /was degraded/);
    }
  });

  it("an endless chain of references to files is bounded", async () => {
    lines = [];
    let reads = 0;
    const fs = {
      async readFile() {
        reads += 1;
        return document(`${reads}.json`);
      },
    };
    assert.equal((await FromOpenAPIFile("api.json", config, fs)).length, 1);
    assert.equal(reads, 1001);
    assert.match(lines.join("\n"), /more than 1000 files/);
  });
});
