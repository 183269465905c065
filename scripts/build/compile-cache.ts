import { execFileSync } from "node:child_process";
import { chmodSync, globSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder that `bin/launch.ts` looks for: V8's code cache fits one version of Node on one architecture. */
const FOLDER = `cache/${process.version}-${process.arch}`;

/** Milliseconds after which programs that do not end are a fault of the build. */
const TIMEOUT_MS = 60_000;

/**
 * Runs the programs, so that Node keeps their compiled code in `cache/`.
 *
 * @param dist the built programs
 */
export function fillCompileCache(dist = resolve("dist")): void {
  const folder = join(dist, FOLDER);
  rmSync(join(dist, "cache"), { recursive: true, force: true });
  // Not every Node 24 can read a cache that was moved.
  if (Number(process.versions.node.split(".")[0]) < 25) return;
  mkdirSync(folder, { recursive: true });
  const cwd = mkdtempSync(join(tmpdir(), "sealift-build-"));
  try {
    execFileSync(process.execPath, [fileURLToPath(new URL("./run-programs.ts", import.meta.url)), dist, cwd], {
      cwd,
      env: { PATH: process.env.PATH, HOME: cwd },
      timeout: TIMEOUT_MS,
      killSignal: "SIGKILL",
      stdio: "pipe",
    });
    // Node lets only their owner read them.
    for (const path of globSync(`${folder}/*/*`)) chmodSync(path, 0o644);
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}
