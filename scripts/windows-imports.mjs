// Which libraries a library of Windows asks for. Read by hand: the tools that can do it are not on every machine that builds one, and
// objdump of Linux does not know every processor.

/** Where the headers have the tables of imports: those that are loaded at once, and those that are loaded on first use. */
const TABLES = [
  { index: 1, entrySize: 20, nameAt: 12 },
  { index: 13, entrySize: 32, nameAt: 4 },
];

/** The names of the libraries, in small letters. */
export function importsOf(bytes) {
  const headers = bytes.readUInt32LE(0x3c);
  const sectionCount = bytes.readUInt16LE(headers + 6);
  const optionalHeader = headers + 24;
  const sections = optionalHeader + bytes.readUInt16LE(headers + 20);
  // The directories of a 64-bit file.
  const directories = optionalHeader + 112;

  /** Where something is in the file that is at this address once it is loaded. */
  function offsetOf(address) {
    for (let at = sections; at < sections + sectionCount * 40; at += 40) {
      const [start, size, offset] = [12, 16, 20].map((field) => bytes.readUInt32LE(at + field));
      if (address >= start && address < start + size) return address - start + offset;
    }
    throw new Error(`no section of the file has the address ${address}`);
  }

  const names = new Set();
  for (const { index, entrySize, nameAt } of TABLES) {
    const table = bytes.readUInt32LE(directories + index * 8);
    if (table === 0) continue;
    for (let entry = offsetOf(table); ; entry += entrySize) {
      const address = bytes.readUInt32LE(entry + nameAt);
      if (address === 0) break;
      const name = offsetOf(address);
      names.add(bytes.toString("latin1", name, bytes.indexOf(0, name)).toLowerCase());
    }
  }
  return [...names].sort();
}
