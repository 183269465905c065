/** The built `deploy-watch` and `sealift`, as a shell or systemd runs them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Test } from "tap";
import { commandLine } from "./command-line.ts";

const bin = (name: string): string => fileURLToPath(new URL(`../../../dist/bin/${name}.js`, import.meta.url));

/** Longer than any wait here takes; a test that waits in vain says for what. */
const PATIENCE_MS = 60_000;

export interface ProgramEvent {
  event: string;
  // oxlint-disable-next-line typescript/no-explicit-any
  [field: string]: any;
}

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** The lines of stdout that are JSON. */
  events: ProgramEvent[];
}

export type CommandEnded = Omit<Ended, "signal">;

export interface ProgramOptions {
  env?: Record<string, string>;
  cwd?: string;
  stdin?: string;
}

export interface Running {
  child: ChildProcess;
  ended: Promise<Ended>;
  /** Its output so far. */
  said: Ended;
  /** Waits until something that it has said so far holds. */
  until(what: string, holds: (said: Ended) => boolean): Promise<void>;
  untilEvent(event: string, fields?: Record<string, unknown>): Promise<void>;
}

/** Starts a program. It ends with the test at the latest. */
export function start(
  t: Test,
  program: string,
  args: readonly string[],
  { env = {}, cwd, stdin = "" }: ProgramOptions = {},
): Running {
  const child = spawn(process.execPath, [bin(program), ...args], {
    env: { PATH: process.env.PATH, ...env },
    ...(cwd !== undefined && { cwd }),
  });
  const said: Ended = { code: null, signal: null, stdout: "", stderr: "", events: [] };
  const waiting = new Set<() => void>();
  let read = 0;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said.stdout += text;
    for (let end = said.stdout.indexOf("\n", read); end !== -1; end = said.stdout.indexOf("\n", read)) {
      const line = said.stdout.slice(read, end);
      read = end + 1;
      if (line.startsWith("{")) said.events.push(JSON.parse(line) as ProgramEvent);
    }
    for (const look of [...waiting]) look();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said.stderr += text;
    for (const look of [...waiting]) look();
  });
  child.stdin.on("error", () => {}).end(stdin);
  const ended = once(child, "close").then(([code, signal]) => {
    Object.assign(said, { code: code as number | null, signal: signal as NodeJS.Signals | null });
    for (const look of [...waiting]) look();
    return said;
  });
  t.teardown(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    await ended;
  });
  const until: Running["until"] = (what, holds) =>
    new Promise((resolve, reject) => {
      const end = (error?: Error): void => {
        waiting.delete(look);
        clearTimeout(timer);
        if (error === undefined) resolve();
        else reject(error);
      };
      const fail = (why: string) =>
        new Error(`${why} ${what}: …${said.stdout.slice(-2000)}${said.stderr.slice(-1000)}`);
      const look = (): void => {
        if (holds(said)) end();
        else if (child.exitCode !== null) end(fail(`it ended with ${child.exitCode} before`));
      };
      const timer = setTimeout(() => end(fail("in vain")), PATIENCE_MS);
      waiting.add(look);
      look();
    });
  return {
    child,
    ended,
    said,
    until,
    untilEvent: (event, fields = {}) =>
      until(`${event} ${JSON.stringify(fields)}`, ({ events }) =>
        events.some(
          (candidate) =>
            candidate.event === event && Object.entries(fields).every(([key, value]) => candidate[key] === value),
        ),
      ),
  };
}

/** Runs a command of `sealift` to its end, in the process of all command lines. */
export async function run(
  words: readonly string[],
  { env = {}, cwd }: Omit<ProgramOptions, "stdin"> = {},
): Promise<CommandEnded> {
  const ended = await commandLine(words, {
    env: { PATH: process.env.PATH, ...env },
    ...(cwd !== undefined && { cwd }),
  });
  const lines = ended.stdout.split("\n").filter((line) => line.startsWith("{"));
  return { ...ended, events: lines.map((line) => JSON.parse(line) as ProgramEvent) };
}
