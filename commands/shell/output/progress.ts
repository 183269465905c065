import type { Writable } from "node:stream";
import type { SingleBar } from "cli-progress";
import { printable } from "../../../lib/support/printable.ts";
import { sizeText } from "../../../lib/support/size-text.ts";

export interface Progress {
  /** Prints a line above the bar. */
  line(text: string): void;
  update(what: string, done: number, total: number): void;
  stop(): void;
}

/** Opens a progress bar on a terminal; elsewhere prints only the lines. */
export async function openProgress(stream: Writable & { isTTY?: boolean }): Promise<Progress> {
  if (stream.isTTY !== true) {
    return { line: (text) => void stream.write(`${printable(text)}\n`), update: () => {}, stop: () => {} };
  }
  const { default: cliProgress } = await import("cli-progress");
  let bar: SingleBar | undefined;
  let label = "";
  const stop = (): void => {
    bar?.stop();
    bar = undefined;
  };
  return {
    line(text) {
      stop();
      stream.write(`${printable(text)}\n`);
    },
    update(what, done, total) {
      if (bar === undefined || label !== what) {
        stop();
        label = what;
        bar = new cliProgress.SingleBar({
          stream: stream,
          format: `${what.padEnd(10)} {bar} {percentage}% {shown} {eta_formatted} left`,
          barCompleteChar: "█",
          barIncompleteChar: "░",
          barsize: 30,
          hideCursor: true,
          clearOnComplete: true,
          etaBuffer: 50,
        });
        bar.start(Math.max(total, 1), 0, { shown: "" });
      }
      bar.setTotal(Math.max(total, done, 1));
      bar.update(done, { shown: `${sizeText(done)} of ${sizeText(total)}` });
    },
    stop,
  };
}
