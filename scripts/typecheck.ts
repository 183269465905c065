/**
 * `npm run typecheck`: the types of everything, wing by wing (`scripts/wings.ts`), as project references of TypeScript.
 * What was checked before and has not changed is not checked again. `--force` checks everything.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { scriptArguments } from "./arguments.ts";
import { TOOLS, WINGS } from "./wings.ts";

const { force } = scriptArguments(import.meta.filename, {
  options: { force: { type: "boolean", default: false } },
}).values;

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const FOLDER = `${ROOT}node_modules/.cache/wings`;
/** The way from there to the repository. */
const UP = "../../..";
/** Declarations of packages that have none; every wing that sees such a package needs them. */
const AMBIENT = `${UP}/lib/artifact/zip/*.d.ts`;

/** Writes a configuration of the compiler. One that has not changed keeps its time, by which the compiler goes. */
function configure(wing: string, on: readonly string[], options: object, include: readonly string[]): void {
  const config = {
    extends: `${UP}/tsconfig.json`,
    // Declarations name sources as they are.
    compilerOptions: { ...options, rewriteRelativeImportExtensions: false, tsBuildInfoFile: `./${wing}.tsbuildinfo` },
    include: [...include, AMBIENT],
    references: on.map((other) => ({ path: `./tsconfig.${other}.json` })),
  };
  const [path, text] = [`${FOLDER}/tsconfig.${wing}.json`, JSON.stringify(config, null, 2)];
  if (!existsSync(path) || readFileSync(path, "utf8") !== text) writeFileSync(path, text);
}

mkdirSync(FOLDER, { recursive: true });
for (const [wing, { on, rooms }] of Object.entries(WINGS)) {
  const include = Object.keys(rooms).flatMap((room) => [`${UP}/lib/${room}`, `${UP}/lib/${room}/**/*.json`]);
  const emitted = { noEmit: false, emitDeclarationOnly: true, outDir: `./${wing}`, rootDir: UP };
  configure(wing, on, { composite: true, ...emitted }, include);
}
// Nothing stands on these, so they need no declarations, and none of their types needs a name.
const folders = TOOLS.map((folder) => `${UP}/${folder}`);
configure("tools", Object.keys(WINGS), { incremental: true, rootDir: UP }, folders);

const compiler = `${ROOT}node_modules/typescript-7/bin/tsc`;
const args = ["--build", `${FOLDER}/tsconfig.tools.json`, "--singleThreaded", ...(force ? ["--force"] : [])];
process.exitCode = spawnSync(process.execPath, [compiler, ...args], { cwd: ROOT, stdio: "inherit" }).status ?? 1;
