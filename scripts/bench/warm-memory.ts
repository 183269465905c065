import { execFileSync } from "node:child_process";
import { freemem } from "node:os";

/** More than any measured command takes. */
const WARM_BYTES = 2 * 1024 ** 3;

/**
 * Takes memory and frees it, so that the measured command finds it in this machine. A virtual machine may give free
 * memory back to its host within seconds, and gets it again page by page: on one of them a new GiB takes 2 to 6 s
 * instead of 0.6, so that a command would be measured by what ran before it. A process of its own takes it, so that all
 * of it is free again at once.
 */
export function warmMemory(): void {
  const bytes = Math.floor(Math.min(WARM_BYTES, freemem() / 2));
  execFileSync(process.execPath, ["-e", `Buffer.alloc(${bytes}, 1)`], { stdio: "inherit", env: {} });
}
