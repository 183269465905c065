import { Journal } from "../../releases/journal.ts";
import { dropPartial } from "../../releases/partial.ts";
import type { Release } from "../../releases/release.ts";
import { traced } from "../../support/work.ts";
import type { Emit } from "../base/events.ts";
import { sendReports } from "../reports/outbox.ts";
import type { Source } from "../sources/source.ts";
import { endInterrupted } from "./interrupted.ts";
import { perform, type RunOutcome, type RunPlan, switchOver, unchanged } from "./pipeline.ts";
import { type DeployOptions, type DeployResult, errorOf, lockRoot, type Run } from "./run.ts";
import { condemn, walk } from "./walk.ts";

/**
 * Deploys from any source: resolve → admit → stage → install → switch → settle (docs/contract/agent.md). Never throws:
 * whatever goes wrong is in the result and in the reports.
 */
export function deploy(source: Source, options: DeployOptions, listener: Emit): Promise<DeployResult> {
  return perform(source, options, listener, DEPLOYMENT);
}

export const DEPLOYMENT: RunPlan<Source> = {
  name: "deploy",
  precheck: async ({ source, options }) => source.precheck?.(options.supervisor.name),
  follow,
  afterwards: (run) => traced("report", {}, () => sendReports(run.layout, run.source, run)),
};

async function follow(run: Run, previous: Release | undefined): Promise<RunOutcome> {
  const ended = await walk<RunOutcome>(run, previous, {
    unchanged: (running) => unchanged(run, running),
    replace: async ({ staged, resolved, install }) => {
      await using _root = await lockRoot(run);
      await endInterrupted(run.layout, run.options.supervisor, run.emit);
      const journal = await Journal.begin(run.layout, staged.attempt, previous?.name ?? null);
      return await switchOver(run, journal, previous, {
        prepare: () => install(journal),
        condemn: (error, switched) => condemn(run, resolved, error, switched),
      });
    },
  }).catch(async (thrown: unknown) => {
    // The next run needs the room more than the bytes.
    if (errorOf(run, thrown).code === "disk_full") await dropPartial(run.layout, run.source.target).catch(() => {});
    throw thrown;
  });
  // Nothing of the version will be fetched again.
  await dropPartial(run.layout, run.source.target).catch(() => {});
  return ended;
}
