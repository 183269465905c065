/**
 * `npm run lint`: rules of code, unused code, format and generated documents, as many checks at once as there are
 * processors. The output of each follows when it has ended; all of them run, whichever fails.
 */
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { buffer } from "node:stream/consumers";
import PQueue from "p-queue";
import { scriptArguments } from "./arguments.ts";

scriptArguments(import.meta.filename, { options: {} });

/** The longest first. */
const CHECKS = ["eslint .", "prettier --check .", "oxlint", "knip", "node scripts/docs.ts --check"];

async function passes(command: string): Promise<boolean> {
  const child = spawn(command, { shell: true, stdio: ["ignore", "pipe", "pipe"] });
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const output = await Promise.all([buffer(child.stdout), buffer(child.stderr)]);
  const isFine = (await exited) === 0;
  console.log(`== ${command}${isFine ? "" : ": failed"}`);
  for (const bytes of output) process.stdout.write(bytes);
  return isFine;
}

const queue = new PQueue({ concurrency: availableParallelism() });
const results = await Promise.all(CHECKS.map((command) => queue.add(() => passes(command))));
process.exitCode = results.includes(false) ? 1 : 0;
