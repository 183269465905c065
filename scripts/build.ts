/**
 * Builds `dist/`: programs, library and manual pages. Does nothing when no input has changed since the last build, and compiles
 * incrementally otherwise, so that `npm test` can build first each time. Outputs whose sources are gone are removed.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const DIST = join(ROOT, "dist");
/** The hash of the inputs that `dist/` was built from. */
const STAMP = join(DIST, ".inputs");
const SOURCES = ["bin", "commands", "lib"];
const OTHER_INPUTS = [
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "tsconfig.build.json",
  "scripts/build.ts",
  "scripts/exit-meanings.ts",
  "scripts/manual.ts",
];

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));

function hashOfInputs(): string {
  const hash = createHash("sha256");
  const files = [
    ...SOURCES.flatMap((folder) => filesIn(join(ROOT, folder))),
    ...OTHER_INPUTS.map((name) => join(ROOT, name)),
  ];
  for (const file of files.toSorted())
    hash
      .update(`${relative(ROOT, file)}\0`)
      .update(readFileSync(file))
      .update("\0");
  return hash.digest("hex");
}

function removeOrphans(): void {
  for (const folder of SOURCES) {
    for (const file of filesIn(join(DIST, folder))) {
      const source = join(ROOT, relative(DIST, file)).replace(/(\.d\.ts|\.js)(\.map)?$/, "");
      if (!existsSync(`${source}.ts`) && !existsSync(`${source}.tsx`)) rmSync(file);
    }
  }
}

const inputs = hashOfInputs();
if (!existsSync(STAMP) || readFileSync(STAMP, "utf8") !== inputs) {
  // A build that fails leaves no stamp, so the next one runs again.
  rmSync(STAMP, { force: true });
  const compiler = createRequire(import.meta.url).resolve("typescript/bin/tsc");
  try {
    execFileSync(process.execPath, [compiler, "-p", "tsconfig.build.json"], { cwd: ROOT, stdio: "inherit" });
  } catch {
    process.exit(1);
  }
  removeOrphans();
  await import("./manual.ts");
  writeFileSync(STAMP, inputs);
}
