import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

export interface ProgramOptions {
  command: readonly [string, ...string[]];
  cwd?: string;
  /** The whole environment of the child. */
  env: NodeJS.ProcessEnv;
  /** Milliseconds. */
  timeoutMs: number;
  signal?: AbortSignal;
  /** Called with each line of stdout and stderr. */
  onLine?: (line: string) => void;
}

export interface ProgramResult {
  /** Null when a signal ended it or it could not be started. */
  code: number | null;
  /** stdout, at most 1 MiB of it. */
  stdout: string;
  /** The last lines of stderr (or stdout), for messages. */
  tail: string;
  timedOut: boolean;
  /** Why it could not be started. */
  failure?: string;
}

const MAX_STDOUT = 1024 * 1024;
const KILL_AFTER_MS = 5_000;
const MAX_LINE = 4096;

/** What a child may see of our environment: never a Sealift secret, never a test runner's hooks. */
export function childEnvironment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith("SEALIFT_") && name !== "NODE_OPTIONS" && name !== "CREDENTIALS_DIRECTORY",
  );
  return { ...Object.fromEntries(inherited), ...extra };
}

/**
 * Runs a program to its end, in a process group of its own that is ended as a whole: SIGTERM on time-out or abort, SIGKILL five
 * seconds later. Never rejects: a program that cannot be started is a result, too.
 */
export async function runProgram(options: ProgramOptions): Promise<ProgramResult> {
  const [program, ...args] = options.command;
  const { promise, resolve } = Promise.withResolvers<ProgramResult>();
  const tail: string[] = [];
  let stdout = "";
  let timedOut = false;
  const child = spawn(program, args, {
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    env: options.env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const kill = (signal: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // The group is gone already.
    }
  };
  let killTimer: NodeJS.Timeout | undefined;
  const end = (): void => {
    kill("SIGTERM");
    killTimer ??= setTimeout(() => kill("SIGKILL"), KILL_AFTER_MS);
  };
  const timer = setTimeout(() => {
    timedOut = true;
    end();
  }, options.timeoutMs);
  options.signal?.addEventListener("abort", end, { once: true });
  if (options.signal?.aborted) end();

  const remember = (line: string): void => {
    const cut = line.slice(0, MAX_LINE);
    tail.push(cut);
    if (tail.length > 10) tail.shift();
    options.onLine?.(cut);
  };
  child.stdout.on("data", (chunk: Buffer) => {
    if (stdout.length < MAX_STDOUT) stdout += chunk.toString("utf8");
  });
  createInterface({ input: child.stdout }).on("line", remember);
  createInterface({ input: child.stderr }).on("line", remember);

  const finish = (result: Pick<ProgramResult, "code" | "failure">): void => {
    clearTimeout(timer);
    clearTimeout(killTimer);
    options.signal?.removeEventListener("abort", end);
    // Whatever the program left running in its group ends with it.
    kill("SIGKILL");
    resolve({ ...result, stdout, tail: tail.join("\n"), timedOut });
  };
  child.once("error", (error) => finish({ code: null, failure: error.message }));
  child.once("close", (code) => finish({ code }));
  return promise;
}

/** Says how a program failed, in a few words. */
export function describeFailure(result: ProgramResult, timeoutMs: number): string {
  if (result.failure !== undefined) return `it could not be started (${result.failure})`;
  if (result.timedOut) return `it took longer than ${timeoutMs / 1000} s`;
  const ending = result.code === null ? "it was ended by a signal" : `it ended with exit code ${result.code}`;
  return result.tail === "" ? ending : `${ending}: ${result.tail.split("\n").slice(-3).join(" / ")}`;
}
