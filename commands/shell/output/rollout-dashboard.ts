import { setTimeout as sleep } from "node:timers/promises";
import type { RolloutRecord } from "../../../lib/contract/surfaces/rollouts.ts";
import { Pictures } from "../../../lib/tui/pictures.ts";
import { showRollout, type Terminal } from "../../../lib/tui/show.tsx";
import { interruptible } from "../base.ts";
import { rolloutLines } from "./rollout-lines.ts";
import { endWithTerminal } from "./terminal.ts";

const LOOK_MS = 1000;

/** Shows a rollout live until somebody quits or the terminal goes away. A hub that is away keeps the last picture. */
export async function rolloutDashboard(
  first: RolloutRecord,
  look: () => Promise<RolloutRecord>,
  terminal: Terminal,
): Promise<void> {
  using interrupt = interruptible();
  const stop = new AbortController();
  using _terminal = endWithTerminal(stop, terminal);
  const ended = AbortSignal.any([interrupt.signal, stop.signal]);
  const pictures = new Pictures();
  let rollout = first;
  const lines = (now: number): string[] => rolloutLines(rollout, now);
  const picture = showRollout({ lines, pictures, quit: () => stop.abort() }, terminal);
  ended.addEventListener("abort", () => picture.unmount(), { once: true });
  if (ended.aborted) picture.unmount();
  const follow = async (): Promise<void> => {
    while (!ended.aborted) {
      await sleep(LOOK_MS, undefined, { signal: ended }).catch(() => undefined);
      rollout = await look().catch(() => rollout);
      pictures.changed();
    }
  };
  await Promise.all([follow(), picture.waitUntilExit()]);
}
