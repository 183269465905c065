/**
 * `npm run build:sea`: makes `sealift-VERSION-PLATFORM`, the single executable, from `dist/` and the Node that runs
 * this script. Arguments: the folder to write to (default: here); `--node FILE --platform linux-arm64` for the Node of
 * another platform.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { scriptArguments } from "../arguments.ts";
import { bundleOneFile } from "./bundle.ts";
import { binutil, requireProcessor } from "./platforms.ts";
import { step } from "./step.ts";

const { values, positionals } = scriptArguments(import.meta.filename, {
  allowPositionals: true,
  options: {
    node: { type: "string", default: process.execPath },
    platform: { type: "string", default: `${process.platform}-${process.arch}` },
  },
});
const [, arch = ""] = values.platform.split("-");
const isForLinux = values.platform.startsWith("linux-");
const strip = isForLinux ? binutil("strip", requireProcessor(arch)) : "strip";
const target = resolve(positionals[0] ?? ".", `sealift-${packageJson.version}-${values.platform}`);
const folder = mkdtempSync(join(tmpdir(), "sealift-one-file-"));
try {
  const node = join(folder, "node");
  await step(`strip Node for ${values.platform}`, () => {
    copyFileSync(values.node, node);
    // A quarter of it is names for debuggers.
    execFileSync(strip, ["--strip-all", node], { stdio: "inherit" });
  });
  await step("bundle the programs into one file", () => bundleOneFile(folder));
  const packed = packageJson.files.filter((name) => !name.startsWith("!")).flatMap(filesIn);
  const assets = Object.fromEntries([
    ...["package.json", ...packed].map((path) => [path, resolve(path)]),
    ...globSync(join(folder, "threads/*.cjs")).map((path) => [`dist/threads/${basename(path)}`, path]),
  ]) as Record<string, string>;
  const digests = Object.entries(assets).map(([path, file]) => [
    path,
    createHash("sha256").update(readFileSync(file)).digest("hex"),
  ]);
  assets["files.json"] = join(folder, "files.json");
  writeFileSync(assets["files.json"], JSON.stringify(Object.fromEntries(digests)));
  const config = {
    // The path is in the executable: two builds must give the same bytes.
    main: "one-file.mjs",
    mainFormat: "module",
    executable: node,
    output: target,
    disableExperimentalSEAWarning: true,
    useVfs: true,
    execArgv: ["--disable-sigusr1"],
    // Sandboxes need flags of their own; NODE_OPTIONS counts for nothing.
    execArgvExtension: "cli",
    assets,
  };
  mkdirSync(resolve(positionals[0] ?? "."), { recursive: true });
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  await step("put the file and its assets into the executable", () =>
    execFileSync(process.execPath, ["--build-sea", "config.json"], {
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
    }),
  );
  console.log(`${target}: ${statSync(target).size} bytes`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Lists the files of a path of the package; maps and types are for checkouts and editors. */
function filesIn(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return globSync(`${path}/**/*`).filter(
    (file) => statSync(file).isFile() && !/(?:^|\/)\.|\.(?:d\.c?ts|map|png|tsbuildinfo)$/.test(file),
  );
}
