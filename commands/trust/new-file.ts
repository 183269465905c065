import { writeFile } from "node:fs/promises";
import { usageError } from "../../lib/contract/errors.ts";

/** Writes a new file. @throws UsageError `usage` where one is there */
export async function writeNew(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { flag: "wx" });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EEXIST")
      throw usageError("usage", `${file} is there already, and is not replaced.`, { hint: "Choose another name." });
    throw usageError("usage", `${file} cannot be written: ${message}.`, { cause: error });
  }
}
