import { type Journal, readJournal } from "./journal.ts";
import type { Layout } from "./layout.ts";
import { sweepUnfinished } from "./release.ts";
import { undoDeployment } from "./switch.ts";

/**
 * Brings a project root back to whole releases after a crash: an interrupted deployment is undone, leftovers go. Only under the lock, by
 * whoever uses the root next (docs/contract/host.md).
 *
 * @returns the interrupted deployment, whose touched units may still run what was undone
 */
export async function recover(layout: Layout): Promise<Journal | undefined> {
  const interrupted = await readJournal(layout);
  if (interrupted !== undefined) await undoDeployment(layout, interrupted);
  await sweepUnfinished(layout);
  return interrupted;
}
