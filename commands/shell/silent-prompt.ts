import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";

/** Asks a person at a terminal for a secret, without showing it. @returns the line, without blanks around it */
export async function askSilently(
  { stdin, stderr }: { stdin: NodeJS.ReadStream; stderr: NodeJS.WriteStream },
  question: string,
): Promise<string> {
  // The terminal is silenced before the prompt, for a quick paste.
  const silent = new Writable({ write: (_chunk, _encoding, written) => written() });
  const lines = createInterface({ input: stdin, output: silent, terminal: true });
  stderr.write(question);
  try {
    return (await lines.question("")).trim();
  } finally {
    lines.close();
    stderr.write("\n");
  }
}
