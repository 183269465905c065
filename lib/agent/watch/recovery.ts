import { readJournal } from "../../releases/journal.ts";
import type { Layout } from "../../releases/layout.ts";
import { acquireLock } from "../../releases/lock.ts";
import { hasStaging } from "../../releases/recovery.ts";
import type { AgentEvent } from "../base/events.ts";
import { endInterrupted, sweepInterrupted } from "../deployment/interrupted.ts";
import { sendReports } from "../reports/outbox.ts";
import { unsentNames } from "../reports/report.ts";
import type { Source } from "../sources/source.ts";
import type { LoopContext, WatchTarget } from "./target.ts";

/** Target to recover, in a project root that other targets of the watch may share. */
export interface Recovering {
  layout: Layout;
  target: WatchTarget;
  context: Pick<LoopContext, "deployments" | "supervisorOf" | "emit">;
  signal: AbortSignal;
}

/**
 * Ends what a crash interrupted before anything else is decided: what runs must be known. The journal may belong to
 * another target of the root, whose units its own supervisor restarts. Then sends unsent reports to the hub.
 */
export async function recoverTarget(
  source: Source,
  { layout, target: { name, options }, context, signal }: Recovering,
): Promise<void> {
  const { target } = source;
  const { lockWaitMs } = options;
  const emit = (event: AgentEvent): void => context.emit({ ...event, target: name });
  if ((await readJournal(layout)) !== undefined) {
    await context.deployments.alone(layout.root, async () => {
      // A deployment of this process, whose journal it was, has ended meanwhile.
      const journal = await readJournal(layout);
      if (journal === undefined) return;
      await using _root = await acquireLock(layout.lock, { waitMs: lockWaitMs, signal });
      await endInterrupted(layout, context.supervisorOf(layout, journal.target) ?? options.supervisor, emit);
    });
  }
  if (await hasStaging(layout, target)) {
    await using _turn = await acquireLock(layout.targetLock(target), { waitMs: lockWaitMs, signal });
    await sweepInterrupted(layout, target, emit);
  }
  if ((await unsentNames(layout, target)).length > 0) await sendReports(layout, source, { emit, signal });
}
