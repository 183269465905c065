import { type ChildProcess, execFile, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** The end of a command line. */
export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

export interface Asked {
  args: readonly string[];
  cwd: string;
  env: Record<string, string | undefined>;
}

const PROGRAM = fileURLToPath(new URL("./command-lines-program.ts", import.meta.url));

let program: ChildProcess | undefined;
let last: Promise<unknown> = Promise.resolve();

/** One process for all command lines of this one. It ends with it. */
function started(): ChildProcess {
  if (program?.connected === true) return program;
  program = fork(PROGRAM, {
    // Of this process: the loader of types, and the rule that `npm run break-rules` takes out.
    execArgv: process.execArgv.filter((argument) => argument.startsWith("--import=./test/support/")),
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  program.unref();
  program.channel!.unref();
  return program;
}

async function ask(asked: Asked): Promise<Ended> {
  const child = started();
  child.channel!.ref();
  const done = new AbortController();
  const answered = once(child, "message", { signal: done.signal });
  child.send(asked);
  const ended = once(child, "exit", { signal: done.signal }).then(([code, signal]) => {
    throw new Error(`the process of the command lines ended (${code ?? signal}): ${asked.args.join(" ")}`);
  });
  try {
    const [answer] = (await Promise.race([answered, ended])) as [Ended];
    return answer;
  } finally {
    done.abort();
    child.channel?.unref();
  }
}

/**
 * Runs `sealift` with these words, in one process for all of them, which has loaded every command: a start of the real
 * program costs half a second of processor time. For what a command says and how it ends; signals, terminals and full
 * disks need a program of their own.
 */
export function commandLine(
  args: readonly string[],
  { cwd = process.cwd(), env = {} }: { cwd?: string; env?: Asked["env"] } = {},
): Promise<Ended> {
  const result = last.then(() => ask({ args, cwd, env }));
  last = result.catch(() => undefined);
  return result;
}

/** The file of a built program. */
export const builtFile = (program: string): string =>
  fileURLToPath(new URL(`../../../dist/bin/${program}.js`, import.meta.url));

/** Runs a built program with these words: for what changes a whole process, as proxies and certificates. */
export function builtProgram(
  args: readonly string[],
  { cwd, env }: Omit<Asked, "args">,
  program = "sealift",
): Promise<Ended> {
  const file = builtFile(program);
  return new Promise((resolve) => {
    execFile(process.execPath, [file, ...args], { cwd, env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });
}
