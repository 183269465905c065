import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const PROGRAM = (name: string): string => fileURLToPath(new URL(`../../dist/bin/${name}.js`, import.meta.url));

/** Milliseconds that a program may take to end after SIGTERM. */
const STOP_LIMIT_MS = 120_000;

/** A program that started so short a time ago may not hear SIGTERM yet, and end by it. Milliseconds. */
const YOUNG_MS = 30_000;

/** Most of what the lives of one program have taken, early in the soak and late. */
export interface Peak {
  residentMb: number;
  descriptors: number;
}

/** One of the built programs, started again and again, and measured while it lives. */
export class Service {
  readonly name: string;
  readonly peaks: Peak[] = [];
  kills = 0;
  starts = 0;
  readonly #args: readonly string[];
  readonly #options: { cwd: string; env: Record<string, string> };
  #child: ChildProcess | undefined;
  #startedAt = 0;
  #exited: Promise<unknown> = Promise.resolve();

  constructor(name: string, args: readonly string[], options: { cwd: string; env?: Record<string, string> }) {
    this.name = name;
    this.#args = args;
    this.#options = { env: {}, ...options };
    process.once("exit", () => this.#child?.kill("SIGKILL"));
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  start(): void {
    this.starts++;
    this.#startedAt = performance.now();
    const env = { PATH: process.env.PATH ?? "", ...this.#options.env };
    this.#child = spawn(process.execPath, [PROGRAM(this.name), ...this.#args], {
      ...{ cwd: this.#options.cwd, env, stdio: "ignore" },
    });
    this.#exited = once(this.#child, "exit");
  }

  /** Runs the program once. @returns its exit code; null when it was killed */
  async run(): Promise<number | null> {
    this.start();
    await this.#exited;
    return this.#child!.exitCode;
  }

  /** Ends the program as a failure of the machine would: it does nothing any more. */
  async kill(): Promise<void> {
    if (!this.running) return;
    this.kills++;
    this.#child!.kill("SIGKILL");
    await this.#exited;
  }

  /** @returns the exit code after SIGTERM; null when it had to be killed */
  async stop(): Promise<number | null> {
    if (!this.running) return 0;
    const timer = setTimeout(() => this.#child!.kill("SIGKILL"), STOP_LIMIT_MS);
    const isYoung = performance.now() - this.#startedAt < YOUNG_MS;
    this.#child!.kill("SIGTERM");
    await this.#exited;
    clearTimeout(timer);
    if (isYoung && this.#child!.signalCode === "SIGTERM") return 0;
    return this.#child!.exitCode;
  }

  /** Takes its memory and descriptors into account. @param part of the soak: 0 for its first half, 1 for its second */
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
