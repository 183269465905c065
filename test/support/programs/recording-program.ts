import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Test } from "tap";
import { temporaryFolder } from "../temporary-folder.ts";

/**
 * Puts a program on the path that writes its arguments to a log and then does what `script` (POSIX shell) says;
 * `$STATE` is a folder for it.
 *
 * @returns reads the recorded calls, one a line
 */
export async function recordingProgram(t: Test, name: string, script: string): Promise<() => Promise<string[]>> {
  const folder = temporaryFolder(t);
  const log = join(folder, "calls");
  await mkdir(join(folder, "bin"));
  await mkdir(join(folder, "state"));
  const file = join(folder, "bin", name);
  await writeFile(log, "");
  await writeFile(file, `#!/bin/sh\nSTATE=${folder}/state\necho "$@" >> ${log}\n${script}\n`);
  await chmod(file, 0o755);
  const before = process.env.PATH;
  process.env.PATH = `${join(folder, "bin")}:${before}`;
  t.teardown(() => {
    process.env.PATH = before;
  });
  return async () => (await readFile(log, "utf8")).trim().split("\n").filter(Boolean);
}
