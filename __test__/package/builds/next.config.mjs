const root = import.meta.dirname;

export default {
  output: "standalone",
  // Both, or the formats that a program registers with its copy of TypeBox are not those that the package sees.
  serverExternalPackages: ["@alkdev/operations", "@sinclair/typebox"],
  // This project is inside another one.
  outputFileTracingRoot: root,
  turbopack: { root },
};
