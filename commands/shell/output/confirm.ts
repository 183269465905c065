import type { BaseContext } from "clipanion";

interface Asked {
  stdin: NodeJS.ReadStream;
  stderr: NodeJS.WriteStream;
}

/** Tells whether a person at a terminal can answer a question. */
export const canAnswer = ({ stdin }: Pick<BaseContext, "stdin">): boolean =>
  (stdin as NodeJS.ReadStream).isTTY && !process.env.CI;

/** Asks a question on stderr. @returns whether the answer is yes; the end of the input is a no */
export async function confirm(context: Pick<BaseContext, "stdin" | "stderr">, question: string): Promise<boolean> {
  const { stdin, stderr } = context as unknown as Asked;
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: stdin, output: stderr });
  try {
    const closed = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
    return /^y(es)?$/i.test((await Promise.race([lines.question(`${question} [y/N] `), closed])).trim());
  } finally {
    lines.close();
  }
}
