import { sameItem } from "../../releases/layout.ts";
import { currentRelease } from "../../releases/release.ts";
import { releaseDifferences } from "../release-diff.ts";
import type { Emit } from "./events.ts";
import { type Preview, steps, warnOfJournal } from "./preview.ts";
import { chooseRelease, keptSource, type KeptTarget, readyToGoBack } from "./rollback.ts";
import { beginRun, type DeployOptions, errorOf } from "./run.ts";
import { checkSupervisor } from "./supervision.ts";

/**
 * Finds out what a rollback would do, with every check that it makes before it switches. It never throws. The project
 * root is only read, without a lock; no report is written.
 */
export async function previewRollback(kept: KeptTarget, options: DeployOptions, listener: Emit): Promise<Preview> {
  const run = beginRun(keptSource(kept), options, (event) => {
    if (event.event === "resolve.ok" || event.event === "warning") listener(event);
  });
  const { layout, source, emit } = run;
  let previous: string | null = null;
  try {
    await checkSupervisor(run);
    await warnOfJournal(run);
    const running = await currentRelease(layout, source.target);
    previous = running?.version ?? null;
    const release = await chooseRelease(run, running);
    emit({ event: "resolve.ok", version: release.version, running_version: previous });
    const versions = { version: release.version, previous_version: previous };
    if (release.name === running?.name) return { outcome: "unchanged", ...versions };
    const { plan } = await readyToGoBack(run, running, release);
    const gone = (running?.items ?? []).filter((old) => !release.items.some((item) => sameItem(item, old)));
    return {
      outcome: "would_deploy",
      ...versions,
      changes: {
        fetched: null,
        installed: release.items.map(({ section, id }) => `${section}/${id}`),
        adopted: [],
        removed: gone.map(({ section, id }) => `${section}/${id}`),
        env_files: [],
        differences: (await releaseDifferences(layout, source.target, [running, release])) ?? null,
        steps: [...steps(plan.stop, false), ...steps(plan.after, true)],
        collected: [],
      },
    };
  } catch (thrown) {
    return { outcome: "failed", version: run.draft.version, previous_version: previous, error: errorOf(run, thrown) };
  }
}
