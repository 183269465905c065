import t from "tap";
import { bundledPackages, dependencyFaults, licencesText } from "../../scripts/build/third-party.ts";

const input = (...imported: string[]) => ({
  bytes: 1,
  imports: imported.map((original) => ({ path: original, original, kind: "import-statement" as const })),
});

t.test("a dependency that nothing imports, and an import that no dependency names, are faults", async (t) => {
  const inputs = {
    "bin/x.ts": input("./launch.ts", "node:fs", "zod", "semver/functions/lt.js", "@noble/curves/ed25519.js"),
    "node_modules/zod/index.js": input("inner"),
  };
  t.same(dependencyFaults(inputs, { dependencies: { zod: "1", semver: "1", "@noble/curves": "1" } }), []);
  t.same(dependencyFaults(inputs, { dependencies: { zod: "1", "@noble/curves": "1", inner: "1" } }), [
    "package.json: nothing in the programs imports the dependency inner.",
    "package.json: the programs import semver, which is not among the dependencies.",
  ]);
});

t.test("packages are named with the text of their licence", async (t) => {
  const packages = bundledPackages({ "lib/x.ts": input(), "node_modules/zod/index.js": input() });
  t.match(packages, [{ name: "zod", licence: "MIT", texts: [/Permission is hereby granted/] }]);
  t.match(licencesText(packages), /^zod \d+\.\d+\.\d+ \(MIT\)\n\nMIT License/m);
});
