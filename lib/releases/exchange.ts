import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { renameSync, rmSync, symlinkSync } from "node:fs";
import { readlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { forChildren } from "./open-folder.ts";

/** Numbers of the system call renameat2, by processor. */
const RENAMEAT2: Partial<Record<NodeJS.Architecture, number>> = { x64: 316, arm64: 276, riscv64: 276 };

/** AT_FDCWD twice, and the flag RENAME_EXCHANGE: exit code 0 when the two names were exchanged. */
const PERL = "exit(syscall($ARGV[0], -100, $ARGV[1], -100, $ARGV[2], 2) == 0 ? 0 : 1)";

/**
 * Exchanges a folder and a link in one step, so that at every instant both names lead somewhere: Linux can (renameat2
 * with RENAME_EXCHANGE), Node has no call for it, so `mv --exchange` (coreutils 9.5) or perl makes it.
 *
 * Without either, two renames follow each other without a pause: the folder's name is missing between them for some
 * microseconds, and if the process is killed right there until the next run. Nothing else is different.
 *
 * @param folder a folder, where the link is to stand
 * @param link a link, where the folder is to stand
 */
export async function exchange(folder: string, link: string): Promise<void> {
  const names = [forChildren(folder), forChildren(link)];
  if (await succeeds("mv", ["--exchange", "--no-target-directory", "--", ...names])) return;
  const number = process.platform === "linux" ? RENAMEAT2[process.arch] : undefined;
  if (number !== undefined && (await succeeds("perl", ["-e", PERL, String(number), ...names]))) return;
  const text = await readlink(link);
  const prepared = join(dirname(folder), `.link-${randomBytes(6).toString("hex")}`);
  symlinkSync(text, prepared);
  rmSync(link);
  renameSync(folder, link);
  renameSync(prepared, folder);
}

function succeeds(program: string, args: readonly string[]): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const child = spawn(program, args, { stdio: "ignore", env: { PATH: process.env.PATH, LC_ALL: "C" } });
  child.once("error", () => resolve(false));
  child.once("close", (code) => resolve(code === 0));
  return promise;
}
