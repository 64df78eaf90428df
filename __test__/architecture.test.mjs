// ARCHITECTURE.md is true: what it names exists, and what it says about who may use whom holds.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const read = (path) => readFileSync(join(root, path), "utf8");

/** All files below a folder with one of these endings, as paths from the root. */
function filesBelow(folder, ending) {
  return (
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"))
      // `npm run docs` installs its generator in docs/.
      .filter((path) => !path.includes("/node_modules/"))
  );
}

const text = read("ARCHITECTURE.md");
const ROOMS = "crates|src|facade|explorer|__test__|npm|conformance|corpus|bench|fuzz|examples|scripts|docs";
const PATH = new RegExp(`\`((?:${ROOMS})/[\\w./-]*)\``, "g");
const inBackticks = [...text.matchAll(PATH)];
const linked = [...text.matchAll(/\]\(([\w./-]+)\)/g)];
const paths = new Set([...inBackticks, ...linked].map(([, path]) => path));
const tests = [...paths].filter((path) => /\.test\.mjs$|\/tests\/.*\.rs$/.test(path));

describe("ARCHITECTURE.md", () => {
  it("ARCHITECTURE.md names the tests that hold its rules", () =>
    assert.ok(tests.length > 15, `${tests.length} tests`));

  for (const path of paths) {
    it(`ARCHITECTURE.md names ${path}, which exists`, () => assert.ok(existsSync(join(root, path))));
  }

  it("ARCHITECTURE.md calls files by names that they have", () => {
    const all = ["crates", "src", "facade", "__test__"].flatMap((folder) =>
      ["rs", "ts", "mjs"].flatMap((ending) => filesBelow(folder, `.${ending}`)),
    );
    const named = [...text.matchAll(/`([\w/-]+\.(?:rs|ts|mjs))`/g)].map(([, name]) => name);
    assert.deepEqual(
      named.filter(
        (name) =>
          !paths.has(name) && !name.startsWith("dist/") && !all.some((file) => file.endsWith(`/${name}`)),
      ),
      [],
    );
  });

  for (const path of tests) {
    it(`ARCHITECTURE.md names ${path}, which tests something`, () => {
      assert.match(read(path), path.endsWith(".rs") ? /#\[(tokio::)?test\b/ : /\bassert[.(]/);
    });
  }

  // Written as `file` ("title"): the title of a test, or a part of it.
  for (const [, path, title] of text.matchAll(/`([\w./-]+)` \("([^"]+)"\)/g)) {
    it(`ARCHITECTURE.md names the test "${title}" of ${path}`, () => {
      const wanted = path.endsWith(".rs") ? `fn ${title.replaceAll(" ", "_")}` : title;
      assert.ok(read(path).includes(wanted));
    });
  }

  it("ARCHITECTURE.md names each crate, and each folder of the facade that is a module", () => {
    for (const crate of readdirSync(join(root, "crates"))) assert.ok(text.includes(`crates/${crate}`), crate);
    assert.deepEqual(
      readdirSync(join(root, "facade"), { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map((entry) => entry.name)
        .sort(),
      LAYERS.flat().sort(),
    );
  });
});

describe("other documents", () => {
  const documents = ["README.md", "CONTRIBUTING.md", ...filesBelow("docs", ".md")];
  it("documents name files that exist", () => {
    const missing = documents.flatMap((document) =>
      [...read(document).matchAll(PATH)]
        .map(([, path]) => path)
        .filter((path) => !existsSync(join(root, path)))
        .map((path) => `${document}: ${path}`),
    );
    assert.deepEqual(missing, []);
  });
});

/** The rooms of the facade, from the ground up: each may use those before its own line. */
const LAYERS = [
  ["interop"],
  ["schema"],
  ["registry"],
  ["call"],
  ["mcp", "nats", "openapi", "otel", "redis", "sse", "tools", "websocket"],
  ["code"],
  ["serve"],
  ["cli"],
  ["browser"],
];

describe("layers", () => {
  it("in the facade, a module uses only modules beneath it", () => {
    const level = new Map(LAYERS.flatMap((rooms, index) => rooms.map((room) => [room, index])));
    const roomOf = (path) => (path.split("/").length > 2 ? path.split("/")[1] : undefined);
    const wrong = [];
    for (const file of filesBelow("facade", ".ts")) {
      const from = roomOf(file);
      if (from === undefined) continue;
      for (const [, target] of read(file).matchAll(/(?:from|import\(|require\() ?"(\.[^"]+)"/g)) {
        const to = roomOf(join(dirname(file), target).split(sep).join("/"));
        if (to !== undefined && to !== from && level.get(to) >= level.get(from))
          wrong.push(`${file}: ${target}`);
      }
    }
    assert.deepEqual(wrong, []);
  });

  it("only one file of the facade loads the addon", () => {
    const loaders = filesBelow("facade", ".ts").filter((file) => /\.node\b["'`]/.test(read(file)));
    assert.deepEqual(loaders, ["facade/native.ts"]);
  });

  it("no crate uses the binding, and those without I/O use no client", () => {
    const dependencies = (crate) => {
      const [, section] = read(`crates/${crate}/Cargo.toml`).split("\n[dependencies]\n");
      return [...section.split("\n[")[0].matchAll(/^([\w-]+)/gm)].map(([, name]) => name);
    };
    const CLIENTS = ["reqwest", "hyper", "async-nats", "redis", "rmcp", "tokio-rustls", "rustls"];
    for (const crate of readdirSync(join(root, "crates"))) {
      assert.ok(!dependencies(crate).includes("operations-napi"), crate);
    }
    for (const crate of ["operations-core", "operations-schema", "operations-openapi", "operations-tools"]) {
      const clients = dependencies(crate).filter((name) => CLIENTS.includes(name));
      assert.deepEqual(clients, [], crate);
    }
  });

  it("unsafe code is in one file, and every crate forbids it", () => {
    for (const crate of readdirSync(join(root, "crates"))) {
      assert.match(read(`crates/${crate}/src/lib.rs`), /^#!\[forbid\(unsafe_code\)\]/m, crate);
    }
    const unsafe = filesBelow("src", ".rs").filter((file) => /\bunsafe\b(?!_code)/.test(read(file)));
    assert.deepEqual(unsafe, ["src/interop/raw.rs"]);
  });
});
