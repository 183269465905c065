/**
 * `npm run pack`: writes the tarball that is published, `sealift-VERSION.tgz`, from `dist/`. It contains all that it
 * needs: its package.json names no dependency. Argument: the folder to write to (default: here).
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { scriptArguments } from "../arguments.ts";
import { embedTypes } from "./sdk-types.ts";

const MAX_BYTES = 4_000_000;

/** Keys of package.json that only a checkout uses. */
const CHECKOUT_ONLY = ["dependencies", "devDependencies", "scripts", "allowScripts"];

const { positionals } = scriptArguments(import.meta.filename, { allowPositionals: true });
const folder = mkdtempSync(join(tmpdir(), "sealift-pack-"));
try {
  if (!existsSync("dist/bin")) throw new Error("dist/ is missing: npm run build");
  for (const path of packageJson.files.filter((name) => !name.startsWith("!")))
    cpSync(path, join(folder, path), { recursive: true });
  const published = Object.fromEntries(Object.entries(packageJson).filter(([key]) => !CHECKOUT_ONLY.includes(key)));
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(published, null, 2)}\n`);
  embedTypes(join(folder, "dist/sdk"), resolve("dist/sdk"));
  const target = resolve(positionals[0] ?? ".");
  const output = execFileSync("npm", ["pack", "--json", "--pack-destination", target], {
    cwd: folder,
    encoding: "utf8",
  });
  const [{ filename }] = JSON.parse(output) as [{ filename: string }];
  const bytes = statSync(join(target, filename)).size;
  if (bytes > MAX_BYTES) throw new Error(`${filename} has ${bytes} bytes, more than ${MAX_BYTES}`);
  console.log(`${join(target, filename)}: ${bytes} bytes`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
