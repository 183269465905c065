import { Readable, Writable } from "node:stream";
import { Cli, type CommandClass } from "clipanion";
import type { Ended } from "./command-line.ts";

/**
 * Runs a command in the test's own process.
 *
 * @param where.isTTY whether stdout is a terminal
 * @param where.stdin what it reads from standard input
 * @param where.typed what a person types at a terminal, in place of standard input
 */
export async function runHere(
  commands: readonly CommandClass[],
  words: readonly string[],
  { isTTY = false, stdin = "", typed }: { isTTY?: boolean; stdin?: string; typed?: string } = {},
): Promise<Ended> {
  const texts = { stdout: "", stderr: "" };
  const into = (name: keyof typeof texts): Writable =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        texts[name] += String(chunk);
        done();
      },
    });
  const cli = new Cli({ binaryName: "sealift" });
  for (const command of commands) cli.register(command);
  const streams = {
    stdin: Object.assign(Readable.from([Buffer.from(typed ?? stdin)]), { isTTY: typed !== undefined }),
    stdout: Object.assign(into("stdout"), { isTTY }),
    stderr: into("stderr"),
  };
  const { CI } = process.env;
  // Nobody is asked where it is set.
  if (typed !== undefined) delete process.env["CI"];
  try {
    return { code: await cli.run([...words], streams), ...texts };
  } finally {
    if (CI !== undefined) process.env["CI"] = CI;
  }
}
