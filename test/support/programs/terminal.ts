import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const LOOK_EVERY_MS = 50;

interface TerminalOptions {
  columns?: number;
  rows?: number;
  env?: Record<string, string>;
  cwd?: string;
}

/**
 * A real terminal of a given size with one program in it: keys go in, the screen is read. tmux holds the
 * pseudo-terminal.
 */
export class Terminal implements AsyncDisposable {
  readonly #socket = `sealift-${randomBytes(6).toString("hex")}`;

  private constructor() {}

  /** Starts one of the built programs. Its exit code is shown as `exit N` when it has ended. */
  static open(program: string, args: readonly string[], options: TerminalOptions = {}): Promise<Terminal> {
    const file = fileURLToPath(new URL(`../../../dist/bin/${program}.js`, import.meta.url));
    return Terminal.run([process.execPath, file, ...args], options);
  }

  /** Starts any command. */
  static async run(
    command: readonly string[],
    { columns = 80, rows = 24, env = {}, cwd = "/" }: TerminalOptions = {},
  ): Promise<Terminal> {
    const terminal = new Terminal();
    const settings = Object.entries(env).map(([name, value]) => `${name}=${quoted(value)}`);
    const clean = ["CI", "NODE_OPTIONS", "NO_COLOR", "FORCE_COLOR"].map((name) => `-u ${name}`);
    const line = ["env", ...clean, ...settings, ...command.map(quoted)].join(" ");
    await terminal.#tmux(
      ...["-f", "/dev/null", "new-session", "-d", "-x", String(columns), "-y", String(rows), "-c", cwd],
      // By words, tmux starts it itself, and not by the user's shell. The shell stays when Ctrl-C ends the program.
      ...["/bin/sh", "-c", `trap : INT; ${line}; echo "exit $?"; exec sleep 600`],
    );
    await terminal.#tmux("set", "-g", "status", "off");
    return terminal;
  }

  async #tmux(...args: string[]): Promise<string> {
    const { stdout } = await run("tmux", ["-L", this.#socket, ...args], {
      env: { ...process.env, TERM: "xterm-256color" },
    });
    return stdout;
  }

  /** The text on the screen. @param coloured with its escape sequences */
  screen(coloured = false): Promise<string> {
    return this.#tmux("capture-pane", "-p", ...(coloured ? ["-e"] : []));
  }

  /** Presses keys, by tmux's names for them. */
  async press(...keys: string[]): Promise<void> {
    await this.#tmux("send-keys", ...keys);
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.#tmux("resize-window", "-x", String(columns), "-y", String(rows));
  }

  /** Waits until the screen matches. @returns it @throws Error with the last screen when it never does */
  async shows(pattern: RegExp, limitMs = 20_000): Promise<string> {
    const end = Date.now() + limitMs;
    for (;;) {
      const screen = await this.screen();
      if (pattern.test(screen)) return screen;
      if (Date.now() > end) throw new Error(`The screen never showed ${pattern}, but:\n${screen}`);
      await sleep(LOOK_EVERY_MS);
    }
  }

  /** True when the program takes the mouse, so that people cannot select text as usual. */
  async takesMouse(): Promise<boolean> {
    return (await this.#tmux("display", "-p", "#{mouse_any_flag}")).trim() === "1";
  }

  /** The process id of what runs in the terminal: a shell whose child is the program. */
  async processId(): Promise<number> {
    return Number(await this.#tmux("display", "-p", "#{pane_pid}"));
  }

  /** Closes the terminal, as a person closes its window. */
  async close(): Promise<void> {
    await this.#tmux("kill-server").catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
