// What scripts/check-addon.mjs finds in a library of Windows. Those of Linux and macOS are made by their builds.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { faultsOf } from "../../scripts/check-addon.mjs";

const folder = mkdtempSync(join(tmpdir(), "operations-addon-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const ARM64 = 0xaa64;
const X64 = 0x8664;

/** Headers, one section, and in it the tables of imports: nothing more of a library than is read. */
function library({ processor = X64, atOnce = [], later = [], entry = "napi_register_module_v1" }) {
  const [headers, optionalHeaderSize, start, offset, size] = [0x80, 240, 0x1000, 0x400, 0x800];
  const bytes = Buffer.alloc(offset + size);
  bytes.write("MZ", 0, "latin1");
  bytes.writeUInt32LE(headers, 0x3c);
  bytes.write("PE\0\0", headers, "latin1");
  bytes.writeUInt16LE(processor, headers + 4);
  bytes.writeUInt16LE(1, headers + 6);
  bytes.writeUInt16LE(optionalHeaderSize, headers + 20);
  const section = headers + 24 + optionalHeaderSize;
  bytes.writeUInt32LE(start, section + 12);
  bytes.writeUInt32LE(size, section + 16);
  bytes.writeUInt32LE(offset, section + 20);
  let free = 0x400;
  const text = (value) => {
    const at = free;
    bytes.write(`${value}\0`, offset + at, "latin1");
    free += value.length + 1;
    return start + at;
  };
  const table = (index, at, entrySize, nameAt, names) => {
    if (names.length === 0) return;
    bytes.writeUInt32LE(start + at, headers + 24 + 112 + index * 8);
    for (const [position, name] of names.entries()) {
      bytes.writeUInt32LE(text(name), offset + at + position * entrySize + nameAt);
    }
  };
  text(entry);
  table(1, 0, 20, 12, atOnce);
  table(13, 0x200, 32, 4, later);
  return bytes;
}

function faults(triple, parts) {
  const file = join(folder, `operations.${triple}.node`);
  writeFileSync(file, library(parts));
  return faultsOf(file);
}

describe("an addon for Windows", () => {
  it("an addon for Windows may import what comes with Windows", () => {
    const atOnce = ["KERNEL32.dll", "ntdll.dll", "api-ms-win-crt-heap-l1-1-0.dll"];
    assert.deepEqual(faults("win32-x64-msvc", { atOnce, later: ["WS2_32.dll"] }), []);
    assert.deepEqual(faults("win32-arm64-msvc", { processor: ARM64, atOnce }), []);
  });

  it("an addon for Windows may not import anything else, at once or later", () => {
    assert.deepEqual(faults("win32-x64-msvc", { atOnce: ["kernel32.dll", "VCRUNTIME140.dll"] }), [
      "It asks for what Windows does not have: vcruntime140.dll",
    ]);
    assert.deepEqual(
      faults("win32-x64-msvc", { atOnce: ["kernel32.dll"], later: ["zlib1.dll", "libunwind.dll"] }),
      ["It asks for what Windows does not have: libunwind.dll, zlib1.dll"],
    );
  });

  it("an addon for Windows is for the processor that its name says", () => {
    assert.deepEqual(faults("win32-arm64-msvc", { processor: X64 }), [
      "It is not a library for win32-arm64-msvc.",
    ]);
  });

  it("an addon for Windows exports what Node loads", () => {
    assert.deepEqual(faults("win32-x64-msvc", { entry: "main" }), [
      "It has no napi_register_module_v1, which Node looks for.",
    ]);
  });
});
