import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { build, type Metafile, type Plugin } from "esbuild";
import { OPTIONS } from "./bundle.ts";

type Outputs = Metafile["outputs"];

const NOWHERE = ["--hub-url", "http://127.0.0.1:1", "--api-key", "none"];
/** Exit code of a program that found no hub. */
const UNREACHABLE = 75;
const SIGNER = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
const PROJECT = ["--project-id", "prj_0123456789abcdef"];
const HOST = ["--project-root", "root", ...NOWHERE];
const PLUGIN = ["--signing-secret", "none", "--install-plan", "install.yaml"];

/** Starts of all programs, as far as the first request, which fails, or the ready line. */
const STARTS: readonly (readonly string[])[] = [
  ...["sealift", "deploy-publish", "deploy-project", "hub-serve", "runtime-serve"].map((name) => [name, "--help"]),
  ["sealift", "keys", "list", ...NOWHERE],
  ["deploy-publish", "source", ...PROJECT, "--version", "1.0.0", "--signing-key-file", "signer.key", ...NOWHERE],
  ["deploy-project", ...PROJECT, "--deployment-credential", "none", "--signer-public-key", SIGNER, ...HOST],
  ["deploy-marketplace", "none", ...PLUGIN, ...HOST],
  ["watch", "plugin:none", "--once", ...PLUGIN, ...HOST],
  ["hub-serve", "--data-dir", "hub", "--listen", "127.0.0.1:0"],
  ["runtime-serve", "--config", "integration.yaml"],
];

const planOf = (project: string): string =>
  `format_version: "1"\nproject_id: ${project}\nversion: 1.0.0\nsteps:\n  - {id: install, action: install_plugin, plugin: none}\n`;

/** Files that the starts ask for in their folder. */
const FILES: Readonly<Record<string, string>> = {
  "signer.key": `${randomBytes(32).toString("hex")}\n`,
  "install.yaml": planOf("none"),
  "source/deployment/install.yaml": planOf("prj_0123456789abcdef"),
  "source/plugins/none/plugin.yaml": "name: none\nversion: 1.0.0\n",
  "integration.yaml": "app: { name: none, secret_key: 0123456789abcdef0123456789abcdef, server: { port: 0 } }\n",
};

/** Threads and processes that are started by their path: they load what they import. */
const OWN = /^dist\/lib\/chunks\/[\w-]+-(?:worker|process)\.js$/;

/** Chunks that the same starts load, as one file. */
interface Group {
  /** Without a folder. */
  file: string;
  /** Paths of chunks, in the order in which they are loaded. */
  members: readonly string[];
}

/** Returns the chunks that a program loads at its start, in this order. */
async function loadedBy([program = "", ...args]: readonly string[], cwd: string): Promise<string[]> {
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), text, { mode: 0o600 });
  }
  const list = join(cwd, "modules.json");
  const hook = new URL("./trace-modules.ts", import.meta.url).href;
  const child = spawn(process.execPath, ["--import", hook, resolve(`dist/bin/${program}.js`), ...args], {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, TRACED_MODULES: list, NODE_DISABLE_COMPILE_CACHE: "1" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  child.stdout.on("data", (chunk: Buffer) => /^ready http/.test(chunk.toString()) && child.kill("SIGTERM"));
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0 && code !== UNREACHABLE) throw new Error(`${program} ${args.join(" ")} ended with ${code}`);
  const urls = JSON.parse(readFileSync(list, "utf8")) as string[];
  return urls.filter((url) => url.includes("/lib/chunks/")).map((url) => `dist/lib/chunks/${basename(url)}`);
}

/** The chunks that a file imports by statements, directly and through others: each behind what it imports itself. */
function importsOf(path: string, outputs: Outputs, found = new Set<string>()): Set<string> {
  for (const { path: next, kind } of outputs[path]!.imports)
    if (kind === "import-statement" && next in outputs && !found.has(next)) importsOf(next, outputs, found);
  return found.add(path);
}

/** Returns the chunks that are worth merging: those that exactly the same starts load, where they are several. */
async function groupsOf(outputs: Outputs): Promise<Group[]> {
  const own = Object.keys(outputs).filter((path) => OWN.test(path));
  const starts = own.map((path) => [path]);
  const folder = mkdtempSync(join(tmpdir(), "sealift-build-"));
  try {
    starts.push(...(await Promise.all(STARTS.map((start, index) => loadedBy(start, join(folder, String(index)))))));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const loaders = new Map<string, string>();
  for (const [index, loaded] of starts.entries())
    for (const path of new Set(loaded.flatMap((chunk) => [...importsOf(chunk, outputs)])))
      loaders.set(path, (loaders.get(path) ?? "") + index.toString(36));
  for (const path of own) loaders.delete(path);
  return [...Map.groupBy(loaders.keys(), (path) => loaders.get(path)!)]
    .filter(([, members]) => members.length > 1)
    .map(([key, members]) => ({ file: `group-${key}.js`, members }));
}

/** Names of what a group exports: everything that its chunks did, and each of them whole, for `import()`. */
const nameOf = (index: number, exported: string): string => `c${index}_${exported}`;
const wholeOf = (index: number): string => `c${index}`;

function groupText({ members }: Group, outputs: Outputs): string {
  return members
    .map((path, index) => {
      const names = outputs[path]!.exports.map((name) => `${name} as ${nameOf(index, name)}`);
      const from = JSON.stringify(`./${basename(path)}`);
      return `export { ${names.join(", ")} } from ${from};\nexport * as ${wholeOf(index)} from ${from};\n`;
    })
    .join("");
}

/** Reads chunks for esbuild: imports of merged ones become imports of their group, but for those within it. */
function merging(groups: readonly Group[], outputs: Outputs): Plugin {
  const places = new Map(
    groups.flatMap((group) => group.members.map((path, index) => [path, { group, index }] as const)),
  );
  const pathOf = (path: string): string => `dist/lib/chunks/${basename(path)}`;
  return {
    name: "merging",
    setup(build) {
      build.onResolve({ filter: /^group-/ }, ({ path }) => ({ path, namespace: "group" }));
      build.onLoad({ filter: /./, namespace: "group" }, ({ path }) => ({
        contents: groupText(
          groups.find(({ file }) => file === path)!,
          outputs,
        ),
        resolveDir: resolve("dist/lib/chunks"),
      }));
      build.onResolve({ filter: /./ }, ({ path, importer, kind, namespace }) => {
        if (kind === "entry-point") return undefined;
        const place = kind === "import-statement" ? places.get(pathOf(path)) : undefined;
        if (place === undefined) return { path, external: true };
        const own = namespace === "group" ? importer : places.get(pathOf(importer))?.group.file;
        if (own === place.group.file) return { path: resolve(pathOf(path)) };
        return { path: `${dirname(path)}/${basename(path)}`, namespace: "member" };
      });
      build.onLoad({ filter: /./, namespace: "member" }, ({ path }) => {
        const { group, index } = places.get(pathOf(path))!;
        const names = outputs[pathOf(path)]!.exports.map((name) => `${nameOf(index, name)} as ${name}`);
        return { contents: `export { ${names.join(", ")} } from "${dirname(path)}/${group.file}";` };
      });
      build.onLoad({ filter: /\/dist\/(?:bin|lib\/chunks)\/.*\.js$/ }, ({ path }) => ({
        contents: readFileSync(path, "utf8").replace(/import\("(\.[^"]*)"\)/g, (text, target: string) => {
          const place = places.get(pathOf(target));
          return place === undefined
            ? text
            : `import("${dirname(target)}/${place.group.file}").then((m)=>m.${wholeOf(place.index)})`;
        }),
      }));
    },
  };
}

/**
 * Merges chunks of `dist/lib/chunks/` that the same programs load at their start into one file each: finding, reading
 * and linking a file costs more than most of them contain. None of these starts loads anything that it did not load
 * before.
 *
 * @param outputs of the bundle
 */
export async function mergeChunks(outputs: Outputs): Promise<void> {
  const groups = await groupsOf(outputs);
  const merged = new Set(groups.flatMap(({ members }) => members));
  const rest = Object.keys(outputs).filter(
    (path) => /^dist\/(?:bin|lib\/chunks)\/.*\.js$/.test(path) && path !== "dist/bin/launch.js" && !merged.has(path),
  );
  await build({
    ...OPTIONS,
    splitting: false,
    banner: {},
    entryPoints: [
      ...groups.map(({ file }) => ({ in: file, out: `lib/chunks/${basename(file, ".js")}` })),
      ...rest.map((path) => ({ in: resolve(path), out: path.replace(/^dist\/|\.js$/g, "") })),
    ],
    allowOverwrite: true,
    plugins: [merging(groups, outputs)],
  });
  for (const path of merged) for (const file of [path, `${path}.map`]) rmSync(file);
}
