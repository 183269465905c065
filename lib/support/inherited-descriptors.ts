import { closeSync, readdirSync, readFileSync } from "node:fs";

const FOLDER = "/proc/self/fdinfo";
/** Flag of descriptors that no program of ours inherits (open(2)), in the kernel's octal numbers. */
const CLOSED_ON_EXEC = 0o2000000;
/** Node hands none of the first ones on; it has looked at these alone. */
const LEAST = 16;

/**
 * Closes what whoever started this process has left open: no program of somebody else is to get it. Call it before
 * anything is opened for such a program.
 */
export function closeInherited(): void {
  for (const name of namesIn(FOLDER)) {
    if (Number(name) < LEAST) continue;
    try {
      const [, flags = ""] = /^flags:\s*(\d+)$/m.exec(readFileSync(`${FOLDER}/${name}`, "latin1")) ?? [];
      if (flags !== "" && (Number.parseInt(flags, 8) & CLOSED_ON_EXEC) === 0) closeSync(Number(name));
    } catch {
      // That of the look itself has gone.
    }
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
