import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const PROGRAM = (name: string): string => fileURLToPath(new URL(`../../dist/bin/${name}.js`, import.meta.url));

/** Time limit for a program to be ready, and to end after SIGTERM, in milliseconds. */
const STOP_LIMIT_MS = 120_000;

export interface ServiceOptions {
  cwd: string;
  env?: Record<string, string>;
  /** Line on stdout by which a service reports that it is ready. */
  ready?: RegExp;
}

/** Highest figures of one program's processes, early in the soak and late. */
export interface Peak {
  residentMb: number;
  descriptors: number;
}

/** One of the built programs, started repeatedly, and measured while it runs. */
export class Service {
  readonly name: string;
  readonly peaks: Peak[] = [];
  kills = 0;
  starts = 0;
  readonly #args: readonly string[];
  readonly #options: ServiceOptions;
  #child: ChildProcess | undefined;
  #exited: Promise<unknown> = Promise.resolve();
  #ready: Promise<unknown> = Promise.resolve();

  constructor(name: string, args: readonly string[], options: ServiceOptions) {
    this.name = name;
    this.#args = args;
    this.#options = options;
    process.once("exit", () => this.#child?.kill("SIGKILL"));
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  start(): void {
    this.starts++;
    const { cwd, env, ready } = this.#options;
    const child = spawn(process.execPath, [PROGRAM(this.name), ...this.#args], {
      cwd,
      env: { PATH: process.env.PATH ?? "", ...env },
      stdio: ["ignore", ready === undefined ? "ignore" : "pipe", "ignore"],
    });
    this.#child = child;
    this.#exited = once(child, "exit");
    if (ready === undefined || child.stdout === null) return;
    const lines = createInterface({ input: child.stdout });
    const { promise, resolve } = Promise.withResolvers<void>();
    lines.on("line", (line) => ready.test(line) && resolve());
    this.#ready = Promise.race([promise, this.#exited]);
  }

  /** Runs the program once. @returns its exit code; null when it was killed */
  async run(): Promise<number | null> {
    this.start();
    await this.#exited;
    return this.#child!.exitCode;
  }

  /** Ends the program as a failure of the machine would, without a chance to react. */
  async kill(): Promise<void> {
    if (!this.running) return;
    this.kills++;
    this.#child!.kill("SIGKILL");
    await this.#exited;
  }

  /**
   * Ends the program by SIGTERM once it is ready: before that, it may not handle signals yet.
   *
   * @returns its exit code; null when it was ended by a signal, or had to be killed
   */
  async stop(): Promise<number | null> {
    const timer = setTimeout(() => this.#child?.kill("SIGKILL"), STOP_LIMIT_MS);
    await this.#ready;
    this.#child?.kill("SIGTERM");
    await this.#exited;
    clearTimeout(timer);
    return this.#child?.exitCode ?? null;
  }

  /** Records its memory and descriptors. @param part of the soak: 0 for its first half, 1 for its second */
  measure(part: number): void {
    if (!this.running) return;
    try {
      const pid = this.#child!.pid!;
      const residentMb = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
      const descriptors = readdirSync(`/proc/${pid}/fd`).length;
      const known = this.peaks[part] ?? { residentMb: 0, descriptors: 0 };
      this.peaks[part] = {
        residentMb: Math.max(known.residentMb, Math.round(residentMb)),
        descriptors: Math.max(known.descriptors, descriptors),
      };
    } catch {
      // It has ended meanwhile.
    }
  }
}
