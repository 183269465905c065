import { execFileSync } from "node:child_process";

/** User without rights of root. */
const NOBODY = 65_534;

/** Does work without root's right to write everywhere, in a folder that is given to the user who does it. */
export async function asNobody<T>(folder: string, work: () => Promise<T>): Promise<T> {
  if (process.getuid!() !== 0) return work();
  execFileSync("chown", ["-R", String(NOBODY), folder]);
  process.seteuid!(NOBODY);
  try {
    return await work();
  } finally {
    process.seteuid!(0);
  }
}
