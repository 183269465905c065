import { spawnSync } from "node:child_process";
import t from "tap";
import { featuresIn, withoutLines } from "../../scripts/without.ts";
import { IS_NIGHTLY } from "../support/effort.ts";

t.test("a list loses the lines of a feature, and nothing else", (t) => {
  const list = [
    'import { type FirstOptions, first } from "./features/first/feature.ts";',
    'import { last, lastOf } from "./features/last/feature.ts";',
    'import { quotas } from "./features/quotas/feature.ts";',
    "interface Options extends FirstOptions, Others {}",
    "const ALL = [first, quotas, last];",
    "const table = { ...group('A', { ...first, other, ...last }) };",
    "const values = (of) => ({ ...first(of), ...lastOf(of) });",
    "const firstly = 1; // first",
    "",
  ].join("\n");
  const without = (name: string): string =>
    withoutLines("lib/hub/features.ts", list, new Set([`lib/hub/features/${name}/feature.ts`]));
  t.equal(
    without("first"),
    [
      'import { last, lastOf } from "./features/last/feature.ts";',
      'import { quotas } from "./features/quotas/feature.ts";',
      "interface Options extends Others {}",
      "const ALL = [quotas, last];",
      "const table = { ...group('A', { other, ...last }) };",
      "const values = (of) => ({ ...lastOf(of) });",
      "const firstly = 1; // first",
      "",
    ].join("\n"),
  );
  t.match(without("last"), /\[first, quotas\];\n.*\{ \.\.\.first, other \}\) \};\n.*\{ \.\.\.first\(of\) \}\);/);
  t.equal(without("other"), list);
  t.end();
});

t.test("a change touches the features that its folders and files are called after", (t) => {
  const paths = [
    "lib/web/features/hints/feature.ts",
    "lib/options/quotas.ts",
    "docs/rollouts-and-more.txt",
    "lib/a.ts",
  ];
  t.strictSame(featuresIn(paths), ["hints", "quotas"]);
  t.ok(featuresIn().includes("rollouts"));
  t.end();
});

// It takes the types of everything, in a copy.
if (IS_NIGHTLY)
  t.test("a feature that nothing needs can go", (t) => {
    const args = ["scripts/check.ts", "--without", "hints", "--types"];
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8" });
    t.match({ status, stdout }, { status: 0, stdout: /^Without hints: \d+ files, and \d+ of tests and scripts\.\n$/ });
    t.end();
  });

t.test("a name that is no feature's is refused", (t) => {
  const args = ["scripts/check.ts", "--without", "no-such-feature"];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  t.match({ status, stderr }, { status: 2, stderr: /^No folder or file is called no-such-feature in lib\/contract/ });
  t.end();
});
