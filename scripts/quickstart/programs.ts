import { type ChildProcess, spawn, type StdioOptions } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface ResultEvent {
  status: string;
  error?: { code: string; message: string; hint?: string };
}

type Event = { event: string } & Record<string, unknown>;

const STOP_LIMIT_MS = 15_000;

/** Runs the built programs like a user, each a process of its own, and ends all of them with the scope. */
export class Programs implements AsyncDisposable {
  readonly #folder: string;
  readonly #built: string;
  /** Running programs, oldest first. */
  readonly #running = new Set<ChildProcess>();
  #shown = false;
  #ended = false;

  /**
   * @param folder working directory of every program
   * @param checkout whose programs run
   */
  constructor(folder: string, checkout = fileURLToPath(new URL("../..", import.meta.url))) {
    this.#folder = folder;
    this.#built = join(checkout, "dist/bin");
  }

  #start(
    program: string,
    args: readonly string[],
    secrets: Record<string, string>,
    stdio: StdioOptions = ["ignore", "pipe", "inherit"],
  ): ChildProcess {
    if (this.#ended) throw new Error(`${program} is not started: the programs have been ended`);
    const file = join(this.#built, `${program}.js`);
    const inherited = Object.entries(process.env).filter(
      ([name]) => !name.startsWith("SEALIFT_") && name !== "NODE_OPTIONS",
    );
    const child = spawn(process.execPath, [file, ...args], {
      cwd: this.#folder,
      // The cache of compiled code goes with the folder, and the one in the home stays as it is.
      env: { ...Object.fromEntries(inherited), XDG_CACHE_HOME: join(this.#folder, "cache"), ...secrets },
      stdio,
    });
    this.#running.add(child);
    child.once("exit", () => this.#running.delete(child));
    return child;
  }

  /** True while a program has the terminal and handles Ctrl-C itself. */
  get shown(): boolean {
    return this.#shown;
  }

  /** Gives the terminal to a program until it ends. */
  async show(program: string, args: readonly string[], secrets: Record<string, string> = {}): Promise<void> {
    const child = this.#start(program, args, secrets, "inherit");
    this.#shown = true;
    await once(child, "exit");
    this.#shown = false;
  }

  /** Starts a service and waits for its ready event. @returns its URL */
  async serve(program: string, args: readonly string[], secrets: Record<string, string> = {}): Promise<string> {
    const child = this.#start(program, [...args, "--json"], secrets);
    for await (const line of createInterface({ input: child.stdout! })) {
      const event = JSON.parse(line) as Event & { url?: string; error?: { message: string } };
      if (event.event === "ready") return event.url!;
      if (event.error !== undefined) throw new Error(`${program}: ${event.error.message}`);
    }
    throw new Error(`${program} ended before it was ready.`);
  }

  /** Runs a program to its end. @returns its result event @throws Error with the program's own code and message */
  async run<T>(
    program: string,
    args: readonly string[],
    secrets: Record<string, string>,
    onEvent?: (event: Event) => void,
  ): Promise<T> {
    const child = this.#start(program, [...args, "--json"], secrets);
    const exited = once(child, "exit");
    let result: (Event & Partial<ResultEvent>) | undefined;
    for await (const line of createInterface({ input: child.stdout! })) {
      const event = JSON.parse(line) as Event;
      if (event.event === "result") result = event;
      else onEvent?.(event);
    }
    await exited;
    if (result?.status !== "success") {
      const { code, message = "no result", hint }: Partial<NonNullable<ResultEvent["error"]>> = result?.error ?? {};
      const error = new Error(`${program} failed: ${message}${hint ? `\n  ${hint}` : ""}`);
      throw Object.assign(error, { code });
    }
    return result as T;
  }

  /** Ends every program that is still running, and starts no other. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended = true;
    await this.stop();
  }

  /** Ends every program that is still running, the youngest first. */
  async stop(): Promise<void> {
    for (const child of [...this.#running].toReversed()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const exited = once(child, "exit");
      const timer = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
      child.kill("SIGTERM");
      await exited;
      clearTimeout(timer);
    }
  }
}
