import { type ChildProcess, spawn } from "node:child_process";

/**
 * Ends the sandboxes of a runtime that was killed. A sandbox exits when its channel closes, but not while its plugin
 * loops; so a tiny shell waits for the runtime's end of a pipe to close, then kills what is still on its list.
 */

/**
 * Script that reads lines `+ PID` and `- PID`. It runs in a session of its own, so signals to the terminal's group do
 * not reach it.
 */
const SCRIPT = `
trap '' HUP INT TERM
pids=" "
while read -r change pid; do
  case "$change" in
    +) pids="$pids$pid " ;;
    -) case "$pids" in *" $pid "*) pids="\${pids%% $pid *} \${pids#* $pid }" ;; esac ;;
  esac
done
for pid in $pids; do kill -9 "-$pid" 2>/dev/null; done
`;

export class Reaper implements AsyncDisposable {
  #shell: ChildProcess | undefined;

  add(pid: number): void {
    if (process.platform === "win32") return;
    this.#shell ??= this.#start();
    this.#shell.stdin?.write(`+ ${pid}\n`);
  }

  remove(pid: number): void {
    this.#shell?.stdin?.write(`- ${pid}\n`);
  }

  /** Ends the shell, after the last sandbox. */
  async [Symbol.asyncDispose](): Promise<void> {
    const shell = this.#shell;
    this.#shell = undefined;
    if (shell === undefined || shell.exitCode !== null || shell.signalCode !== null) return;
    // It must not keep the process alive while it waits, but its end must be noticed.
    shell.ref();
    const ended = new Promise((resolve) => shell.once("exit", resolve));
    shell.stdin?.end();
    await ended;
  }

  #start(): ChildProcess {
    const shell = spawn("/bin/sh", ["-c", SCRIPT], { stdio: ["pipe", "ignore", "ignore"], detached: true, env: {} });
    // Without a shell on the host, only the closing channel remains.
    shell.on("error", () => undefined);
    shell.stdin.on("error", () => undefined);
    shell.unref();
    (shell.stdin as unknown as { unref(): void }).unref();
    return shell;
  }
}
