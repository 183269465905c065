import { setTimeout as sleep } from "node:timers/promises";
import { asSealiftError } from "../../lib/contract/errors.ts";
import type { RolloutAction, RolloutRecord } from "../../lib/contract/rollouts/records.ts";
import { counted } from "../../lib/support/counted.ts";
import { Pictures } from "../../lib/tui/pictures.ts";
import { showRollout } from "../../lib/tui/rollouts/show.tsx";
import type { Terminal } from "../../lib/tui/show.tsx";
import { untilQuit } from "../shell/output/terminal.ts";
import { ACTED } from "./acted.ts";
import { rolloutLines } from "./lines.ts";

const LOOK_MS = 1000;

/** Rollout at its hub. */
interface AtHub {
  look: () => Promise<RolloutRecord>;
  act: (action: RolloutAction) => Promise<RolloutRecord>;
}

/**
 * Shows a rollout live until somebody quits or the terminal closes. While the hub is unreachable the last screen stays.
 */
export function rolloutDashboard(first: RolloutRecord, { look, act }: AtHub, terminal: Terminal): Promise<void> {
  const pictures = new Pictures();
  let rollout = first;
  let outcome: string | undefined;
  const tell = (text: string): void => {
    outcome = text;
    pictures.changed();
  };
  const carryOut = async (action: RolloutAction): Promise<void> => {
    tell(`${action} …`);
    try {
      rollout = await act(action);
      tell(`${rollout.id} of ${rollout.version} ${ACTED[action]}.`);
    } catch (thrown) {
      const { message, hint } = asSealiftError(thrown);
      tell([message, hint].filter((text) => text !== undefined).join(" "));
    }
  };
  return untilQuit(
    terminal,
    (quit) =>
      showRollout(
        {
          lines: (now) => rolloutLines(rollout, now),
          standing: () => ({ state: rollout.state, waiting: rollout.waiting_for }),
          question: (action) => questionOf(action, rollout),
          outcome: () => outcome,
          act: (action) => void carryOut(action),
          ...{ pictures, quit },
        },
        terminal,
      ),
    async (ended) => {
      while (!ended.aborted) {
        await sleep(LOOK_MS, undefined, { signal: ended }).catch(() => undefined);
        rollout = await look().catch(() => rollout);
        pictures.changed();
      }
    },
  );
}

/** Returns the question before an action, with what it means for hosts. */
function questionOf(action: RolloutAction, { version, waves, open }: RolloutRecord): string {
  const took = waves.reduce((sum, { done }) => sum + done, 0);
  switch (action) {
    case "approve":
      return `Approve the next wave of ${version}${waves[open] === undefined ? "" : ` (${waves[open].wave})`}?`;
    case "pause":
      return `Pause the rollout of ${version}?`;
    case "resume":
      return `Resume the rollout of ${version}? Failures so far no longer count.`;
    case "abort":
      return `Abort the rollout of ${version}? ${counted(took, "host")} ${took === 1 ? "runs" : "run"} it and ${took === 1 ? "keeps" : "keep"} it.`;
  }
}
