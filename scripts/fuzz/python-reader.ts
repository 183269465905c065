import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Listing } from "./listing.ts";

/** Python's readers in one process: starting it for each case would take longer than the case. */
export class PythonReader implements AsyncDisposable {
  readonly #child = spawn("python3", [join(import.meta.dirname, "readers.py")], { stdio: ["pipe", "pipe", "inherit"] });
  readonly #lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();

  /** Lists an archive. Undefined when Python refuses it. */
  async read(kind: "tar" | "zip", path: string): Promise<Listing | undefined> {
    this.#child.stdin.write(`${JSON.stringify([kind, path])}\n`);
    const { value, done } = await this.#lines.next();
    if (done === true) throw new Error("Python's reader has ended.");
    return (JSON.parse(value) as { files?: Listing }).files;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#child, "close");
    this.#child.stdin.end();
    await closed;
  }
}
