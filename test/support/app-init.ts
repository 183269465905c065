import { chmod, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Test } from "tap";
import { commandLine } from "./programs/command-line.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** Id of the project that `app init` is given. */
export const PROJECT = "prj_0123456789abcdef";

/** Plants files in a new folder, and runs `app init` there. */
export async function init(t: Test, files: Record<string, string>, ...more: string[]) {
  const folder = temporaryFolder(t);
  await plantIn(folder, files);
  return { folder, ...(await initIn(folder, "--id", "web", ...more)) };
}

/** Runs `app init` in a folder. */
export const initIn = (cwd: string, ...more: string[]) =>
  commandLine(["app", "init", "--project-id", PROJECT, ...more], { cwd });

/** Writes files below a folder. */
export async function plantIn(folder: string, files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}

/** Returns the line of the command in the `app.yaml` of a folder; empty for none. */
export const commandIn = async (folder: string): Promise<string> =>
  /^command: .*$/m.exec(await readFile(join(folder, "app.yaml"), "utf8").catch(() => ""))?.[0] ?? "";

/** Packages with programs, linked into `.bin` as npm does. */
export async function withPrograms(
  folder: string,
  programs: Record<string, [file: string, text: string]>,
): Promise<void> {
  await mkdir(join(folder, "node_modules/.bin"), { recursive: true });
  for (const [name, [file, text]] of Object.entries(programs)) {
    await plantIn(folder, { [`node_modules/${file}`]: text });
    await chmod(join(folder, "node_modules", file), 0o755);
    await symlink(`../${file}`, join(folder, "node_modules/.bin", name));
  }
}
