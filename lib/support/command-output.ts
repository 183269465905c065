import { spawn } from "node:child_process";
import { once } from "node:events";

/** Limits of a program whose output is read. */
export interface CommandLimits {
  /** Time limit in milliseconds. */
  timeoutMs: number;
  /** Most bytes of standard output. */
  maxBytes: number;
  cwd?: string;
}

/**
 * Runs a program without input, and returns what it prints. Its standard error is this program's own.
 *
 * @throws Error whose message continues "the command …", and never holds what it printed
 */
export async function commandOutput(
  [program, ...words]: readonly [string, ...string[]],
  { timeoutMs, maxBytes, cwd }: CommandLimits,
): Promise<Buffer> {
  const child = spawn(program, words, {
    stdio: ["ignore", "pipe", "inherit"],
    ...(cwd !== undefined && { cwd }),
  });
  const ended = once(child, "close") as Promise<[number | null]>;
  // The output may be read to its end before it counts that the program could not be started.
  ended.catch(() => {});
  let isLate = false;
  /** Ends the program, and stops reading: children of its own may hold the output open. */
  const end = (): void => {
    child.kill("SIGKILL");
    child.stdout.destroy();
  };
  const impatience = setTimeout(() => {
    isLate = true;
    end();
  }, timeoutMs);
  const late = (): Error => new Error(`took longer than ${timeoutMs / 1000} s`);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new Error(`printed more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
    const [status] = await ended;
    if (isLate) throw late();
    if (status === null) throw new Error("was ended by a signal");
    if (status !== 0) throw new Error(`failed with exit code ${status}`);
  } catch (error) {
    end();
    if (isLate) throw late();
    const { code } = error as NodeJS.ErrnoException;
    throw code === undefined ? error : new Error(`could not be started (${code})`, { cause: error });
  } finally {
    clearTimeout(impatience);
  }
  return Buffer.concat(chunks);
}
