import type { TargetName } from "../../contract/target.ts";
import { readJournal } from "../../releases/journal.ts";
import type { Layout } from "../../releases/layout.ts";
import { acquireLock } from "../../releases/lock.ts";
import { hasStaging } from "../../releases/recovery.ts";
import type { Emit } from "../base/events.ts";
import { endInterrupted, sweepInterrupted } from "../deployment/interrupted.ts";
import { sendReports } from "../reports/outbox.ts";
import { unsentNames } from "../reports/report.ts";
import type { Source } from "../sources/source.ts";
import type { SupervisorChoice } from "../supervisors/supervisor.ts";

export interface RecoveryContext {
  layout: Layout;
  /** Runs work while no deployment of this process is under way in the project root. */
  alone: (work: () => Promise<void>) => Promise<void>;
  /** Returns the supervisor of a target watched in the same project root. */
  supervisorOf: (target: TargetName) => SupervisorChoice;
  lockWaitMs: number;
  emit: Emit;
  signal: AbortSignal;
}

/**
 * Ends what a crash interrupted before anything else is decided: what runs must be known. The journal may belong to
 * another target of the root, whose units its own supervisor restarts. Then sends unsent reports to the hub.
 */
export async function recoverTarget(
  source: Source,
  { layout, alone, supervisorOf, lockWaitMs, emit, signal }: RecoveryContext,
): Promise<void> {
  const { target } = source;
  if ((await readJournal(layout)) !== undefined) {
    await alone(async () => {
      // A deployment of this process, whose journal it was, has ended meanwhile.
      const journal = await readJournal(layout);
      if (journal === undefined) return;
      await using _root = await acquireLock(layout.lock, { waitMs: lockWaitMs, signal });
      await endInterrupted(layout, supervisorOf(journal.target), emit);
    });
  }
  if (await hasStaging(layout, target)) {
    await using _turn = await acquireLock(layout.targetLock(target), { waitMs: lockWaitMs, signal });
    await sweepInterrupted(layout, target, emit);
  }
  if ((await unsentNames(layout, target)).length > 0) await sendReports(layout, source, { emit, signal });
}
