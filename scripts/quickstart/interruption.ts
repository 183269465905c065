import { rm } from "node:fs/promises";
import type { Programs } from "./programs.ts";

const SIGNAL_EXITS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/**
 * Ends the programs of an interrupted tour and removes its folder, since half a tour is useless. A closed terminal
 * interrupts it, too, by SIGHUP or by refusing output.
 * @returns whether the tour is interrupted: then failures need no message
 */
export function removeWhenInterrupted(folder: string, programs: Programs): () => boolean {
  let interrupted = false;
  const interrupt = (code: number): void => {
    if (interrupted) return;
    interrupted = true;
    void programs[Symbol.asyncDispose]()
      .then(() => rm(folder, { recursive: true, force: true }))
      .finally(() => {
        process.stderr.write(`\nInterrupted. ${folder} is removed.\n`, () => process.exit(code));
      });
  };
  for (const [signal, code] of Object.entries(SIGNAL_EXITS)) {
    process.on(signal, () => {
      if (signal !== "SIGINT" || !programs.shown) interrupt(code);
    });
  }
  // Unhandled, a write error of a closed terminal would end this process, and leave its programs.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => interrupt(SIGNAL_EXITS.SIGHUP));
  return () => interrupted;
}
