import { spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { LineCutter } from "../../support/lines.ts";
import { traceEnvironment } from "../../support/work.ts";

export interface ProgramOptions {
  command: readonly [string, ...string[]];
  cwd?: string;
  /** Whole environment of the child. */
  env: NodeJS.ProcessEnv;
  /** Time limit in milliseconds. */
  timeoutMs: number;
  signal?: AbortSignal;
  /** Called with each line of stdout and stderr. */
  onLine?: (line: string) => void;
}

export interface ProgramResult {
  /** Exit code; null when a signal ended it or it could not be started. */
  code: number | null;
  /** First mebibyte of stdout. */
  stdout: string;
  /** Last lines of stderr (or stdout) for messages, without stack traces. */
  tail: string;
  timedOut: boolean;
  /** Reason why it could not be started. */
  failure?: string;
}

const MAX_STDOUT = 1024 * 1024;
const KILL_AFTER_MS = 5_000;
/** Most characters kept of a line; the rest is dropped as it arrives. */
const MAX_LINE = 4096;

/** Matches lines of a crash after the error's message. */
const AFTER_MESSAGE = /^\s+at \S|^Node\.js v\d|^\s*$/;
/** Matches a line with an error's message, in Node's and in Python's form. */
const MESSAGE = /^(?:[A-Z]\w*)?Error(?: \[\w+\])?: \S/;

/** Matches the agent's own variables: its secrets, those for a trace collector, and a test runner's hooks. */
const OWN = /^(?:SEALIFT_.*|NODE_OPTIONS|CREDENTIALS_DIRECTORY|OTEL_EXPORTER_OTLP_(?:TRACES_)?HEADERS)$/s;

/** Returns the part of the agent's environment that a child may see, with the trace that it may continue. */
export function childEnvironment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !OWN.test(name));
  return { ...Object.fromEntries(inherited), ...traceEnvironment(), ...extra };
}

/**
 * Runs a program to its end, in a process group of its own. On time-out or abort the whole group gets SIGTERM, and
 * SIGKILL five seconds later. Until then it waits for the output to end; a process that left the group may hold it open
 * for longer. Never rejects: a program that cannot be started is a result, too.
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
  /** @returns false where the group is already gone */
  const kill = (signal: NodeJS.Signals): boolean => {
    try {
      return child.pid !== undefined && process.kill(-child.pid, signal);
    } catch {
      return false;
    }
  };
  const endNow = (): void => {
    kill("SIGKILL");
    for (const stream of [child.stdout, child.stderr]) stream.destroy();
  };
  let killTimer: NodeJS.Timeout | undefined;
  const end = (): void => {
    if (!kill("SIGTERM")) endNow();
    else killTimer ??= setTimeout(endNow, KILL_AFTER_MS);
  };
  const timer = setTimeout(() => {
    timedOut = true;
    end();
  }, options.timeoutMs);
  options.signal?.addEventListener("abort", end, { once: true });
  if (options.signal?.aborted) end();

  const remember = (line: string): void => {
    if (!AFTER_MESSAGE.test(line)) tail.push(line);
    if (tail.length > 10) tail.shift();
    options.onLine?.(line);
  };
  const captured = new StringDecoder("utf8");
  child.stdout.on("data", (chunk: Buffer) => {
    if (stdout.length < MAX_STDOUT) stdout += captured.write(chunk).slice(0, MAX_STDOUT - stdout.length);
  });
  for (const stream of [child.stdout, child.stderr]) eachLine(stream, remember);

  const finish = (result: Pick<ProgramResult, "code" | "failure">): void => {
    clearTimeout(timer);
    clearTimeout(killTimer);
    options.signal?.removeEventListener("abort", end);
    // Ends everything that the program has left running in its group.
    kill("SIGKILL");
    resolve({ ...result, stdout, tail: tail.join("\n"), timedOut });
  };
  child.once("error", (error) => finish({ code: null, failure: error.message }));
  child.once("close", (code) => finish({ code }));
  return promise;
}

/** Calls `onLine` with each line, cut to {@link MAX_LINE} characters. */
function eachLine(stream: Readable, onLine: (line: string) => void): void {
  const cutter = new LineCutter(MAX_LINE);
  const tell = (lines: readonly string[]): void => {
    for (const line of lines) onLine(line);
  };
  stream.on("data", (chunk: Buffer) => tell(cutter.take(chunk)));
  stream.once("end", () => tell(cutter.end()));
}

/** Describes in a few words how a program failed. */
export function describeFailure(result: ProgramResult, timeoutMs: number): string {
  if (result.failure !== undefined) return `it could not be started (${result.failure})`;
  if (result.timedOut) return `it took longer than ${timeoutMs / 1000} s`;
  const ending = result.code === null ? "it was ended by a signal" : `it ended with exit code ${result.code}`;
  const lines = result.tail.split("\n");
  const message = lines.findLastIndex((line) => MESSAGE.test(line));
  const messageLines = message === -1 ? lines.slice(-3) : [lines[message], ...lines.slice(message + 1).slice(-2)];
  // The surrounding sentence has a full stop of its own.
  const said = messageLines.join(" / ").replace(/[.\s]+$/, "");
  return said === "" ? ending : `${ending}: ${said}`;
}
