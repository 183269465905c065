import { setTimeout as sleep } from "node:timers/promises";
import type { RolloutRecord } from "../../lib/contract/surfaces/rollouts.ts";
import { Pictures } from "../../lib/tui/pictures.ts";
import { showRollout, type Terminal } from "../../lib/tui/show.tsx";
import { untilQuit } from "../shell/output/terminal.ts";
import { rolloutLines } from "./lines.ts";

const LOOK_MS = 1000;

/** Shows a rollout live until somebody quits or the terminal goes away. A hub that is away keeps the last picture. */
export function rolloutDashboard(
  first: RolloutRecord,
  look: () => Promise<RolloutRecord>,
  terminal: Terminal,
): Promise<void> {
  const pictures = new Pictures();
  let rollout = first;
  const lines = (now: number): string[] => rolloutLines(rollout, now);
  return untilQuit(
    terminal,
    (quit) => showRollout({ lines, pictures, quit }, terminal),
    async (ended) => {
      while (!ended.aborted) {
        await sleep(LOOK_MS, undefined, { signal: ended }).catch(() => undefined);
        rollout = await look().catch(() => rollout);
        pictures.changed();
      }
    },
  );
}
