import { cpSync, globSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { build, type BuildOptions, type Metafile, type Plugin } from "esbuild";
import { additionalImports, gained, withImports } from "./fewer-chunks.ts";

/** Inputs of bundles, inside and outside of this project, and the files that were made. */
export type Bundled = Pick<Metafile, "inputs" | "outputs">;

/**
 * Definition of `require` for bundled CommonJS modules, which load Node's own modules by it. It provides nothing else,
 * whatever is in the folders above: the package is self-contained.
 */
const REQUIRE = `const require = (name) => {
  const found = process.getBuiltinModule(name);
  if (found !== undefined) return found;
  throw Object.assign(new Error("Cannot find module '" + name + "'"), { code: "MODULE_NOT_FOUND" });
};`;

const OPTIONS = {
  bundle: true,
  splitting: true,
  platform: "node",
  format: "esm",
  target: "esnext",
  mainFields: ["module", "main"],
  jsx: "automatic",
  // A fifth of the package; lines and columns come from the maps.
  minifyWhitespace: true,
  minifySyntax: true,
  define: {
    "process.env.NODE_ENV": '"production"',
    __dirname: "import.meta.dirname",
  },
  // The dashboard sets it when it runs from sources.
  logOverride: { "assign-to-define": "silent" },
  // pg's optional driver in C, which nobody requests.
  external: ["pg-native"],
  banner: { js: REQUIRE },
  sourcemap: "linked",
  sourcesContent: false,
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
  outdir: "dist",
} satisfies BuildOptions;

/** Replacement of a module in a bundle, for all importers or for the named packages. */
interface StandIn {
  contents: string;
  importer?: RegExp;
}

const STAND_INS: Readonly<Record<string, StandIn>> = {
  // Loaded in Ink's development mode only.
  "react-devtools-core": { contents: "export default undefined;" },
  // React's renderer into streams: pages are texts, which its other renderer makes.
  "./cjs/react-dom-server.node.production.js": { contents: "export default {};" },
  // A library for something that Node has built in.
  "@node-rs/crc32": { contents: 'export { crc32 } from "node:zlib";' },
  // HTTP/2 is an option of got and of Fastify that is never set here; Node takes 10 ms to load its own.
  "./utils/http2-client.js": { contents: "export default {};", importer: /\/node_modules\/got\// },
  "node:http2": {
    contents: "export class Http2ServerResponse {} export const constants = {};",
    importer: /\/node_modules\/(?:got|fastify)\//,
  },
  // Fastify makes no TLS server itself: the hub passes it one. Node takes 15 ms to load its own.
  "node:https": { contents: "export default {};", importer: /\/node_modules\/fastify\// },
  // Its default metrics, and those of a cluster, are never collected: they load OpenTelemetry and the cluster module.
  "./lib/defaultMetrics": { contents: "export default undefined;", importer: /\/node_modules\/prom-client\// },
  // Nor are metrics pushed to a gateway: that loads TLS and zlib.
  "./lib/pushgateway": { contents: "export default undefined;", importer: /\/node_modules\/prom-client\// },
  "./lib/cluster": { contents: "export default undefined;", importer: /\/node_modules\/prom-client\// },
};

const standIns: Plugin = {
  name: "stand-ins",
  setup(build) {
    const names = Object.keys(STAND_INS).map((name) => RegExp.escape(name));
    build.onResolve({ filter: new RegExp(`^(?:${names.join("|")})$`) }, ({ path, importer }) =>
      STAND_INS[path]!.importer?.test(importer) === false ? undefined : { path, namespace: "stand-in" },
    );
    build.onLoad({ filter: /./, namespace: "stand-in" }, ({ path }) => ({ contents: STAND_INS[path]!.contents }));
  },
};

/** Keeps imports of these modules, with adapted paths: they have files of their own in `dist/`. */
const apart = (importer: RegExp, filter: RegExp, fileOf: (stem: string) => string): Plugin => ({
  name: "apart",
  setup(build) {
    build.onResolve({ filter }, ({ path, resolveDir }) =>
      importer.test(resolveDir) ? { path: fileOf(basename(path, ".ts")), external: true } : undefined,
    );
  },
});

/** Source map with a single place: esbuild ignores an empty one. */
const NO_MAP = Buffer.from('{"version":3,"sources":["package"],"names":[],"mappings":"AAAA"}').toString("base64");
const NO_MAPPING = `//# sourceMappingURL=data:application/json;base64,${NO_MAP}`;

/**
 * Makes the package `@sindresorhus/is`, below got, create its two list formatters when an error needs them, not on
 * loading: they are the first to read the languages, which takes 12 ms of every start.
 */
const lateListFormats: Plugin = {
  name: "late-list-formats",
  setup(build) {
    build.onLoad({ filter: /\/@sindresorhus\/is\/.*\.js$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      const late = text.replaceAll("new Intl.ListFormat(", "new LateListFormat(");
      const source = JSON.stringify(join(import.meta.dirname, "late-list-format.ts"));
      const imported = late === text ? "" : `import { LateListFormat } from ${source};\n`;
      return { contents: `${imported}${late}\n${NO_MAPPING}`, loader: "js" };
    });
  },
};

/**
 * Leaves the code of packages out of the source maps, where it would be nine tenths: stacks refer to Sealift's sources.
 */
const unmappedPackages: Plugin = {
  name: "unmapped-packages",
  setup(build) {
    build.onLoad({ filter: /\/node_modules\/.*\.[cm]?js$/ }, async ({ path }) => ({
      contents: `${await readFile(path, "utf8")}\n${NO_MAPPING}`,
      loader: "js",
    }));
  },
};

/** Makes plugins and the runtime import one and the same module of the SDK. */
const sharedSdk = apart(/\/lib\/runtime\//, /\/sdk\/[\w-]+\.ts$/, (stem) => `../../sdk/${stem}.js`);

/** Lets a plugin and the code around it share one copy of zod in a sandbox. */
const sharedZod = apart(/\/lib\/runtime\//, /^zod$/, () => "../../zod/index.js");

/** Keeps the one file that an old Node parses separate. */
const launcher = apart(/\/bin$/, /^\.\/launch\.ts$/, () => "./launch.js");

/**
 * Bundles all programs: their first files in `dist/bin/`, and what they share in `dist/lib/chunks/`. Workers and
 * processes are there, too, so that `new URL("./x-worker.js", import.meta.url)` finds them.
 *
 * @param programs names of files in `bin/`
 */
export async function bundlePrograms(programs: readonly string[]): Promise<Bundled> {
  const options = {
    ...OPTIONS,
    chunkNames: "lib/chunks/[name]-[hash]",
    plugins: [standIns, sharedSdk, launcher, lateListFormats, unmappedPackages],
  } satisfies BuildOptions;
  const workers = globSync("lib/**/*-{worker,process}.ts").toSorted();
  const entryOf = (path: string): { in: string; out: string } => ({
    in: path,
    out: `lib/chunks/${basename(path, ".ts")}`,
  });
  const entries = programs.map((program) => ({ in: `bin/${program}.ts`, out: `bin/${program}` }));
  const { metafile: first } = await build({
    ...options,
    entryPoints: [...entries, ...workers.map(entryOf)],
    write: false,
  });
  // A file with such a name that no program imports runs on its own.
  const imported = importedBy(
    entries.map((entry) => entry.in),
    first,
  );
  const [own = [], modules = []] = [false, true].map((is) => workers.filter((path) => imported.has(path) === is));
  entries.push(...own.map(entryOf));
  const plugins = [...options.plugins, withImports(additionalImports(first, new Set(modules)))];
  const { metafile } = await build({ ...options, plugins, entryPoints: entries });
  const others = gained(first, metafile);
  if (others.length > 0) throw new Error(`Loaded where nothing needs it:\n${others.join("\n")}`);
  const unused = Object.keys(STAND_INS).filter((name) => !(`stand-in:${name}` in metafile.inputs));
  if (unused.length > 0) throw new Error(`Nothing imports what has a stand-in: ${unused.join(", ")}`);
  const launch = await build({ entryPoints: ["bin/launch.ts"], outdir: "dist/bin", target: "node16", metafile: true });
  return { inputs: metafile.inputs, outputs: { ...metafile.outputs, ...launch.metafile.outputs } };
}

/**
 * Bundles the first file of the single executable into `folder`, and each thread's code into one file below `threads/`:
 * there a thread is started from a text, which imports nothing.
 */
export async function bundleOneFile(folder: string): Promise<void> {
  const shared = { ...OPTIONS, outdir: folder, splitting: false, sourcemap: false } satisfies BuildOptions;
  await build({ ...shared, entryPoints: ["bin/one-file.ts"], outExtension: { ".js": ".mjs" } });
  await build({
    ...{ ...shared, format: "cjs" as const, banner: {}, outdir: join(folder, "threads") },
    entryPoints: Object.fromEntries(globSync("lib/**/*-worker.ts").map((path) => [basename(path, ".ts"), path])),
    outExtension: { ".js": ".cjs" },
    define: { ...OPTIONS.define, "import.meta.url": '"file:///thread"', "import.meta.dirname": '"/"' },
    plugins: [standIns, lateListFormats, unmappedPackages],
  });
}

/** Returns the modules that some modules import in the end, themselves among them. */
function importedBy(modules: readonly string[], { inputs }: Metafile): Set<string> {
  const imported = new Set(modules);
  for (const module of imported) for (const { path } of inputs[module]?.imports ?? []) imported.add(path);
  return imported;
}

/** Bundles the code around a sandboxed plugin into a folder of its own, which a sandbox may read. */
export async function bundleGuest(): Promise<Bundled> {
  const { metafile } = await build({
    ...OPTIONS,
    entryPoints: [{ in: "lib/runtime/guest/bootstrap.ts", out: "lib/guest/bootstrap" }],
    chunkNames: "lib/guest/[name]-[hash]",
    plugins: [sharedSdk, sharedZod, unmappedPackages],
  });
  return metafile;
}

/** Bundles zod for plugins that bring none of their own, as an ES module and as a CommonJS one. */
export async function bundleZod(): Promise<Bundled> {
  const entryPoints = [{ in: "zod", out: "zod/index" }];
  const shared = { ...OPTIONS, entryPoints, splitting: false, sourcemap: false, minify: true } satisfies BuildOptions;
  const { metafile } = await build({ ...shared, banner: {} });
  // Node can require ES modules: one copy serves both.
  const stdin = { contents: 'module.exports = require("./index.js");', resolveDir: "." };
  const cjs = await build({
    ...{ stdin, outfile: "dist/zod/index.cjs", format: "cjs" as const, platform: "node" as const },
    ...{ bundle: true, external: ["./index.js"], metafile: true as const, minify: true },
  });
  return { inputs: metafile.inputs, outputs: { ...metafile.outputs, ...cjs.metafile.outputs } };
}

/** Copies the declarations of what `zod` exports: a plugin is compiled with nothing installed. */
export function copyZodTypes(): void {
  const zod = dirname(createRequire(import.meta.url).resolve("zod/package.json"));
  const isType = (path: string): boolean => statSync(path).isDirectory() || path.endsWith(".d.ts");
  for (const part of ["index.d.ts", "v4/classic", "v4/core", "v4/locales"])
    cpSync(join(zod, part), join("dist/zod", part), { recursive: true, filter: isType });
}
