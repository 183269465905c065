import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { installedPackages } from "../../../../lib/artifact/packages/installed-packages.ts";
import { described, lockOf, plant, type Planted } from "../../../support/packages.ts";

function folderWith(t: Test, files: Record<string, Planted>): string {
  const folder = join(t.testdir({}), "web");
  plant(folder, files);
  return folder;
}

const paths = (folder: string): string[] => installedPackages(folder).map(({ path }) => path);

/** Returns the error for packages that cannot be packed. */
function refusal(folder: string): { faults?: readonly string[]; hint?: string; message: string } {
  try {
    installedPackages(folder);
  } catch (error) {
    return error as Error;
  }
  throw new Error("it was accepted");
}

const INSTALLED = {
  "node_modules/.bin/tide": { link: "../tide/cli.js" },
  "node_modules/tide/package.json": described("1.0.0"),
  "node_modules/tide/node_modules/@sea/moon/package.json": described("2.0.0", { license: { type: "ISC" } }),
  "node_modules/tool/package.json": described("3.0.0"),
  "node_modules/fresh/package.json": described("1.0.0"),
} satisfies Record<string, Planted>;
const LOCKED = {
  "": { dependencies: { tide: "^1.0.0" } },
  "node_modules/tide": { version: "1.0.0" },
  "node_modules/tide/node_modules/@sea/moon": { version: "2.0.0" },
  "node_modules/tool": { version: "3.0.0", dev: true },
  "node_modules/for-macs": { version: "1.0.0", optional: true },
  "node_modules/either": { version: "1.0.0", devOptional: true },
};
const PACKED = ["node_modules/tide", "node_modules/tide/node_modules/@sea/moon"];

t.test("packages are those that the lock file has for production, of both versions and by either name", async (t) => {
  for (const name of ["package-lock.json", "npm-shrinkwrap.json"])
    for (const version of [2, 3])
      t.same(paths(folderWith(t, { ...INSTALLED, [name]: lockOf(LOCKED, version) })), PACKED);
  const both = { "package-lock.json": lockOf({}), "npm-shrinkwrap.json": lockOf(LOCKED) };
  t.same(paths(folderWith(t, { ...INSTALLED, ...both })), PACKED, "npm prefers the shrinkwrap");
});

t.test("each package that is missing or has another version is named, with the command that installs it", async (t) => {
  const more = { "node_modules/gone": { version: "1.0.0" }, "node_modules/fresh": { version: "1.1.0" } };
  const error = refusal(folderWith(t, { ...INSTALLED, "package-lock.json": lockOf({ ...LOCKED, ...more }) }));
  t.match(error, {
    code: "usage",
    faults: [/names node_modules\/gone, which is not installed/, /node_modules\/fresh is 1\.0\.0.*has 1\.1\.0/],
    hint: /npm ci --omit=dev/,
  });
});

t.test(
  "a lock file that npm 6 wrote, or that is not a lock file, or too large, is refused with a sentence",
  async (t) => {
    const refused = (lock: string) => refusal(folderWith(t, { "package-lock.json": lock }));
    t.match(refused(lockOf({}, 1)), { message: /has version 1, which names no folders/, hint: /package-lock-only/ });
    for (const broken of ["{", "[]", '{"lockfileVersion":3,"packages":{"node_modules/a":{"version":5}}}'])
      t.match(refused(broken), { message: /package-lock\.json is not what npm writes: [^{[]+$/ });
    t.match(refused(`{"a":${"[".repeat(100)}`), { message: /more than 64 levels deep/ });
    t.match(refused("x".repeat(33 * 1024 * 1024)), { message: /is larger than 33554432 bytes/ });
  },
);

const WORKSPACE = {
  "packages/shared/package.json": described("1.0.0"),
  "packages/shared/node_modules/moon/package.json": described("5.0.0"),
  "node_modules/shared": { link: "../packages/shared" },
  "package-lock.json": lockOf({
    "packages/shared": { version: "1.0.0" },
    "packages/shared/node_modules/moon": { version: "5.0.0" },
    "node_modules/shared": { resolved: "packages/shared", link: true },
  }),
} satisfies Record<string, Planted>;

t.test("a package of a workspace is found by its link, with what lies below its folder", async (t) => {
  t.match(installedPackages(folderWith(t, WORKSPACE)), [
    { path: "node_modules/shared", isLink: true, version: "1.0.0" },
    { path: "node_modules/shared/node_modules/moon", isLink: false },
    { path: "packages/shared/node_modules/moon" },
  ]);
});

t.test("a link out of the folder is refused by name, with the command that copies instead", async (t) => {
  const folder = folderWith(t, {
    "../shared/package.json": described("1.0.0"),
    "node_modules/shared": { link: "../../shared" },
    "node_modules/broken": { link: "nowhere" },
    "package-lock.json": lockOf({
      "node_modules/shared": { resolved: "../shared", link: true },
      "node_modules/broken": { resolved: "nowhere", link: true },
    }),
  });
  const faults = [
    /node_modules\/shared is a link to \.\.\/\.\.\/shared, out of/,
    /node_modules\/broken is a link to nowhere/,
  ];
  t.match(refusal(folder), { faults, hint: /--workspaces=false --install-links/ });
});

t.test("without a lock file of its own, a folder gets advice by the manager whose lock file lies above", async (t) => {
  const needs = { "package.json": described("1.0.0", { dependencies: { tide: "*" } }) };
  const folder = folderWith(t, needs);
  t.match(refusal(folder), { hint: /Run `npm install` in / });
  plant(folder, { "../package-lock.json": lockOf({}), "../package.json": "{}" });
  t.match(refusal(folder), { hint: /Run `npm install` in / }, "a project that happens to lie above");
  const workspace = { "../package.json": '{"workspaces":["web"]}' };
  for (const [files, hint] of [
    [workspace, /--workspaces=false --install-links/],
    [{ ...workspace, "../yarn.lock": "" }, /yarn workspaces focus --production/],
    [{ "../pnpm-workspace.yaml": "" }, /pnpm --filter NAME .*deploy/],
  ] as const) {
    plant(folder, files);
    t.match(refusal(folder), { message: /is for the whole workspace/, hint });
  }
});

const PLAIN = {
  "package.json": described("1.0.0", { dependencies: { tide: "*" }, devDependencies: { tool: "*" } }),
  "node_modules/tide/package.json": described("1.0.0", {
    dependencies: { moon: "*", sun: "^2" },
    optionalDependencies: { "for-macs": "*" },
  }),
  "node_modules/tide/node_modules/sun/package.json": described("2.0.0", { dependencies: { moon: "*" } }),
  "node_modules/sun/package.json": described("1.0.0"),
  "node_modules/moon/package.json": described("1.0.0", { dependencies: { tide: "*" } }),
  "node_modules/tool/package.json": described("1.0.0"),
} satisfies Record<string, Planted>;

// pnpm 9 deploys no lock file, and marks what it installs.
for (const lock of ["yarn.lock", "pnpm-lock.yaml", "node_modules/.modules.yaml"])
  t.test(`plain folders beside ${lock} are followed from package.json on, as Node.js finds them`, async (t) => {
    const folder = folderWith(t, { ...PLAIN, [lock]: "" });
    t.same(paths(folder), ["node_modules/moon", "node_modules/tide", "node_modules/tide/node_modules/sun"]);
    rmSync(join(folder, "node_modules/moon"), { recursive: true });
    t.match(refusal(folder), {
      faults: [/^node_modules\/tide needs moon, which is not installed/, /tide\/node_modules\/sun needs moon/],
    });
  });

t.test("links of pnpm's store are refused, with the command that makes none", async (t) => {
  const folder = folderWith(t, {
    "package.json": PLAIN["package.json"],
    "pnpm-lock.yaml": "",
    "node_modules/.pnpm/tide@1.0.0/node_modules/tide/package.json": described("1.0.0"),
    "node_modules/tide": { link: ".pnpm/tide@1.0.0/node_modules/tide" },
  });
  t.match(refusal(folder), {
    faults: [/^node_modules\/tide is a link/],
    hint: /pnpm .*node-linker=hoisted .*inject-workspace-packages=true deploy --prod/,
  });
});

t.test("a folder that declares no packages has none", async (t) => {
  const folder = folderWith(t, { "package.json": described("1.0.0") });
  t.same(paths(folder), []);
  writeFileSync(join(folder, "yarn.lock"), "");
  t.same(paths(folder), []);
  t.notOk(existsSync(join(folder, "node_modules")));
});
