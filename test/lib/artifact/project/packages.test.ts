import { chmodSync, rmSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { DEFAULT_LIMITS } from "../../../../lib/artifact/limits.ts";
import { listProject, type ProjectOptions } from "../../../../lib/artifact/project/project-tree.ts";
import { described, elf, ELF_ARM64, lockOf, plant, type Planted } from "../../../support/packages.ts";

/** The npm packages of a project's folders, as publishing packs them. */

const PLAN = JSON.stringify({
  format_version: "1",
  project_id: "prj_0123456789",
  steps: [{ id: "install", action: "install_plugin", plugin: "tide" }],
});
const PROJECT = {
  "deployment/install.yaml": PLAN,
  "plugins/tide/plugin.yaml": "version: 1.0.0",
} satisfies Record<string, Planted>;

const APPLICATION = {
  "package.json": described("1.0.0", { dependencies: { moon: "*" } }),
  "server.js": "",
  "server.key": "the author's own secret",
  "node_modules/.package-lock.json": "",
  "node_modules/.bin/moon": { link: "../moon/bin/moon.js" },
  "node_modules/moon/package.json": described("1.0.0"),
  "node_modules/moon/bin/moon.js": "#!/usr/bin/env node",
  "node_modules/moon/certs/ca.pem": "",
  "node_modules/moon/data/tides.db": "",
  "node_modules/moon/test/node_modules/fixture/index.js": "",
  "node_modules/moon/node_modules/.bin/x": { link: "nowhere" },
  "node_modules/moon/node_modules/left-over/package.json": described("1.0.0"),
  "node_modules/@sea/addon/package.json": described("1.0.0"),
  "node_modules/@sea/addon/build/a.node": elf(ELF_ARM64),
  "node_modules/@sea/dev/package.json": described("1.0.0"),
  "node_modules/shared": { link: "../packages/shared" },
  "packages/shared/package.json": described("1.0.0"),
  "packages/shared/tls.key": "the author's own secret",
  "package-lock.json": lockOf({
    "": {},
    "node_modules/moon": { version: "1.0.0" },
    "node_modules/@sea/addon": { version: "1.0.0" },
    "node_modules/@sea/dev": { version: "1.0.0", dev: true },
    "node_modules/shared": { resolved: "packages/shared", link: true },
    "packages/shared": { version: "1.0.0" },
  }),
} satisfies Record<string, Planted>;

function project(t: Test, folders: Record<string, Record<string, Planted>>): string {
  const root = t.testdir({});
  plant(root, PROJECT);
  for (const [folder, files] of Object.entries(folders)) plant(join(root, folder), files);
  return root;
}

const list = (root: string, options: Partial<ProjectOptions> = {}) =>
  listProject(root, {
    ...{ projectId: "prj_0123456789", projectName: "Demo", version: "1.0.0", limits: DEFAULT_LIMITS },
    ...options,
  });

const filesBelow = (root: string, folder: string, options?: Partial<ProjectOptions>): string[] =>
  [...list(root, options).tree.members]
    .filter(({ type, path }) => type === "file" && path.startsWith(`${folder}/`))
    .map(({ path }) => path.slice(folder.length + 1));

t.test(
  "an application's packages are packed whole by its lock file, without programs and what it does not name",
  async (t) => {
    const root = project(t, { "apps/web": APPLICATION });
    chmodSync(join(root, "apps/web/node_modules/moon/bin/moon.js"), 0o755);
    t.same(filesBelow(root, "apps/web"), [
      "node_modules/@sea/addon/build/a.node",
      "node_modules/@sea/addon/package.json",
      "node_modules/moon/bin/moon.js",
      "node_modules/moon/certs/ca.pem",
      "node_modules/moon/data/tides.db",
      "node_modules/moon/package.json",
      "node_modules/moon/test/node_modules/fixture/index.js",
      "node_modules/shared/package.json",
      "package-lock.json",
      "package.json",
      "packages/shared/package.json",
      "server.js",
    ]);
    const { tree } = list(root);
    t.same(
      [...tree.members].filter(({ executable, type }) => executable && type === "file").map(({ path }) => path),
      ["apps/web/node_modules/moon/bin/moon.js"],
    );
    t.same(
      tree.leftOut.map(({ path }) => path),
      ["apps/web/node_modules/shared/tls.key", "apps/web/packages/shared/tls.key", "apps/web/server.key"],
      "patterns keep the author's own secrets out, also behind a link",
    );
  },
);

t.test("addons for other platforms and data that is seed are told, and nothing else", async (t) => {
  const root = project(t, { "apps/web": APPLICATION, "plugins/tide/data": { one: "", "sub/two": "" } });
  t.match(list(root, { platform: "linux-x64" }).notes, [
    /^apps\/web\/node_modules\/@sea\/addon has native addons for linux-arm64, and none for linux-x64/,
    /^plugins\/tide\/data has 2 files, which are seed/,
  ]);
  rmSync(join(root, "plugins/tide/data"), { recursive: true });
  t.same(list(root, { platform: "linux-arm64" }).notes, []);
});

t.test("an application whose packages are not installed is refused, unless its host installs them", async (t) => {
  const root = project(t, { "apps/web": APPLICATION, "apps/worker": APPLICATION });
  for (const id of ["web", "worker"]) rmSync(join(root, "apps", id, "node_modules"), { recursive: true });
  t.throws(() => list(root), {
    code: "usage",
    faults: { length: 6 },
    message: /apps\/web cannot be packed: .*apps\/worker cannot/,
    hint: /npm ci --omit=dev/,
  });
  t.notMatch(filesBelow(root, "apps/web", { packages: { ofApplications: false } }).join(), /node_modules/);
});

t.test(
  "packages of plugins and services are packed when that is asked for, and left out as before otherwise",
  async (t) => {
    const { "server.key": _secret, ...files } = APPLICATION;
    const plugin = { ...files, "node_modules/sealift/package.json": described("1.0.0") };
    const root = project(t, { "plugins/tide": plugin, "extensions/cache": files });
    t.same(
      list(root)
        .tree.leftOut.filter(({ pattern }) => pattern === "node_modules")
        .map(({ path }) => path),
      ["extensions/cache/node_modules", "plugins/tide/node_modules"],
    );
    const packed = { packages: { ofAll: true } };
    for (const folder of ["plugins/tide", "extensions/cache"])
      t.match(filesBelow(root, folder, packed).join(), /@sea\/addon.*moon\/certs\/ca\.pem.*shared\/package\.json/);
    t.notMatch(filesBelow(root, "plugins/tide", packed).join(), /node_modules\/sealift/);
  },
);

t.test("what pip has installed to travel along is packed whole, and the author's own files are not", (t) => {
  const files = { "server.pem": "", "packages/certifi/cacert.pem": "", "packages/certifi/__pycache__/core.pyc": "" };
  const root = project(t, {
    "apps/web": { ...files, "packages/certifi-1.0.dist-info/RECORD": "", "packages/shop/seed.db": "" },
    "apps/other": files,
    "apps/fourth": { packages: "a file" },
    "apps/third": { "certs/packages/x.dist-info/RECORD": "", "certs/packages/tls.key": "" },
  });
  t.same(filesBelow(root, "apps/web"), [
    "packages/certifi/cacert.pem",
    "packages/certifi-1.0.dist-info/RECORD",
    "packages/shop/seed.db",
  ]);
  t.same(filesBelow(root, "apps/other"), [], "a folder of that name that pip has not made is the author's");
  t.same(
    filesBelow(root, "apps/third"),
    ["certs/packages/x.dist-info/RECORD"],
    "nor is one that no program looks into",
  );
  t.end();
});

t.test("an application without a lock file of npm says that it goes without its packages", async (t) => {
  const { "package-lock.json": _lock, ...files } = APPLICATION;
  const root = project(t, { "apps/web": files, "apps/plain": { "main.py": "" } });
  t.match(list(root).notes, [/^apps\/web needs moon, and without a lock file of npm none is packed/]);
  t.same(list(root, { packages: { ofApplications: false } }).notes, []);
  const brought = project(t, {
    "apps/web": { "package.json": files["package.json"], "node_modules/moon/index.js": "" },
  });
  t.same(list(brought, { include: ["node_modules"] }).notes, [], "they are packed as they lie there");
});

t.test("a link among packages that --include brings back gets advice by who made it", async (t) => {
  const hintOf = (files: Record<string, Planted>): string | undefined => {
    try {
      list(project(t, { "extensions/cache": files }), { include: ["node_modules"] });
    } catch (error) {
      return (error as { hint?: string }).hint;
    }
    throw new Error("it was accepted");
  };
  t.match(hintOf({ "node_modules/shared": { link: "../shared" } }), /--with-dependencies/);
  t.match(hintOf({ "node_modules/moon": { link: ".pnpm/moon@1/node_modules/moon" } }), /pnpm .*deploy --prod/);
  t.match(hintOf({ "lib/moon": { link: "../moon" } }), /replace the link by what it points to/);
  const root = project(t, { "extensions/cache": { "node_modules/.bin/moon": { link: "../moon/cli.js" } } });
  t.match(list(root, { include: ["node_modules"] }).tree.leftOut, [
    { path: "extensions/cache/node_modules/.bin", pattern: "links to programs" },
  ]);
});
