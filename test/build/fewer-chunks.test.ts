import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { build, type BuildOptions, type Metafile } from "esbuild";
import t from "tap";
import { additionalImports, withImports } from "../../scripts/build/fewer-chunks.ts";

/** Modules that four commands import. */
const IMPORTED = {
  one: ["all", "some", "digest"],
  two: ["all", "some", "large"],
  three: ["all", "packed"],
  four: ["digest", "large", "packed"],
};
const FROM: Record<string, string> = { packed: "packed" };

const commandText = (modules: readonly string[]): string =>
  `${modules.map((name) => `import { ${name} } from "${FROM[name] ?? `../lib/${name}.ts`}";`).join("\n")}
   export const say = () => [${modules.map((name) => `${name}.length`).join()}].join();`;

const MODULES = {
  "bin/program.ts": `const commands = { ${Object.keys(IMPORTED)
    .map((name) => `${name}: () => import("../commands/${name}.ts")`)
    .join()} };
    console.log((await commands[process.argv[2]]()).say());`,
  ...Object.fromEntries(
    Object.entries(IMPORTED).map(([name, modules]) => [`commands/${name}.ts`, commandText(modules)]),
  ),
  "lib/all.ts": `export const all = "all";`,
  "lib/some.ts": `export const some = "some";`,
  "lib/digest.ts": `import { hash } from "node:crypto"; export const digest = hash("md5", "");`,
  "lib/large.ts": `export const large = ${JSON.stringify("large ".repeat(5000))};`,
  "node_modules/packed/index.js": `export const packed = "packed";`,
};

/** Returns the modules that a command loads beside its own, in files that have only modules of this project. */
function loadedWith(command: string, { outputs }: Metafile): string[] {
  const [start] = Object.entries(outputs).find(([, { inputs }]) => `commands/${command}.ts` in inputs)!;
  const files = new Set([start]);
  for (const file of files)
    for (const { kind, path, external } of outputs[file]!.imports)
      if (kind === "import-statement" && external !== true) files.add(path);
  return [...files]
    .flatMap((file) => Object.keys(outputs[file]!.inputs))
    .filter((path) => /^(?:lib|node_modules)\//.test(path))
    .toSorted();
}

t.test("small modules of several entries are one file, and nothing costly is loaded with them", async (t) => {
  const before = process.cwd();
  const root = t.testdir({});
  process.chdir(root);
  t.teardown(() => process.chdir(before));
  for (const [path, text] of Object.entries(MODULES)) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  const options = {
    ...{ entryPoints: ["bin/program.ts"], absWorkingDir: root, outdir: "dist" },
    ...{ bundle: true, splitting: true, format: "esm", platform: "node", target: "esnext", metafile: true },
  } satisfies BuildOptions;
  const { metafile: first } = await build({ ...options, write: false });
  const added = additionalImports(first);
  t.strictSame(
    [...added].map(([entry, modules]) => [entry, [...modules]]),
    [["commands/three.ts", ["lib/some.ts"]]],
  );
  const { metafile } = await build({ ...options, plugins: [withImports(added)] });

  t.strictSame(loadedWith("three", first), ["lib/all.ts", "node_modules/packed/index.js"]);
  t.strictSame(loadedWith("three", metafile), ["lib/all.ts", "lib/some.ts", "node_modules/packed/index.js"]);
  const fileOf = (module: string): string =>
    Object.entries(metafile.outputs).find(([, { inputs }]) => module in inputs)![0];
  t.equal(fileOf("lib/some.ts"), fileOf("lib/all.ts"));
  writeFileSync("package.json", '{ "type": "module" }');
  const said = (command: string): string =>
    execFileSync(process.execPath, [join(root, "dist/program.js"), command], { encoding: "utf8" });
  t.strictSame(Object.keys(IMPORTED).map(said), ["3,4,32\n", "3,4,30000\n", "3,6\n", "32,30000,6\n"]);
});
