// Which tests run when: `npm test` runs what tells a contributor whether a change is right, in minutes. `npm run test:all`,
// which is what CI runs, leaves nothing out. CONTRIBUTING.md has the times.

/** Test files that only `npm run test:all` runs, by the beginning of their path in `__test__/`. */
const SLOW = {
  "real documents": ["openapi/real-documents", "tools/documents", "tools/relevance"],
  "a browser": ["browser.test", "browser/chromium", "browser/suites", "explorer/browser", "hub/page"],
  "thirty MCP servers": ["mcp/day"],
  "documentation and declarations": [
    "guides",
    "hover",
    "links",
    "recipes",
    "reference",
    "type-errors",
    "schema/fork",
    "tools/ai-sdk-types",
  ],
};

/** How much repetition `npm test` does with. `npm run test:all` has the numbers that stand in the tests. */
const FEWER_CASES = {
  OPERATIONS_PAIRS: "20000",
  OPERATIONS_CALLS: "2000",
  OPERATIONS_REGISTRIES: "20",
  OPERATIONS_RUNS: "10",
  OPERATIONS_CASES: "500",
  OPERATIONS_HISTORIES: "30",
  OPERATIONS_CHAOS_SECONDS: "4",
  OPERATIONS_PASS_MB: "40",
  OPERATIONS_SPILL_MEGABYTES: "40",
};

const slowPaths = Object.values(SLOW).flat();

/** Whether a test file belongs to `npm run test:all` alone. */
export const isSlow = (file) => {
  const path = file.replaceAll("\\", "/").replace(/^.*__test__\//, "");
  return slowPaths.some((start) => path.startsWith(start));
};

/** Sets the number of random cases for a short run, where the environment does not say another one. */
export function repeatLess() {
  for (const [name, value] of Object.entries(FEWER_CASES)) process.env[name] ??= value;
}
