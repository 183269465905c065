import { spawnSync } from "node:child_process";

/**
 * Runs a program to its end, and returns what it printed.
 *
 * @param env in place of this process's
 * @throws Error with what it printed, where it does not end with 0
 */
export function run(
  [program, ...words]: readonly [string, ...string[]],
  cwd: string,
  env: NodeJS.ProcessEnv = process.env,
): string {
  const { status, error, stdout, stderr } = spawnSync(program, words, { cwd, env, encoding: "utf8" });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${program} ${words.join(" ")} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}
