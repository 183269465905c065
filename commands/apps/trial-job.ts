import { setTimeout as sleep } from "node:timers/promises";
import type { AppTestEvent } from "../../lib/apps/events.ts";
import { controlGroups } from "../../lib/apps/serve.ts";
import { ServedJobs } from "../../lib/apps/served-jobs.ts";
import { deploymentError } from "../../lib/contract/errors.ts";
import { installedJobs } from "../../lib/releases/installed-jobs.ts";
import type { Outcome } from "../../lib/releases/job-scheduler.ts";
import { thisBoot } from "../../lib/releases/jobs.ts";
import type { Layout } from "../../lib/releases/layout.ts";

/** Time between two looks at a job, in milliseconds. */
const PAUSE_MS = 50;

/** Runs a job once, at once, to its end. Leaves no process. @throws DeploymentError `unhealthy` where it fails */
export async function runJob(
  id: string,
  layout: Layout,
  { emit, signal }: { emit: (event: AppTestEvent) => void; signal: AbortSignal },
): Promise<void> {
  const found = await controlGroups(layout);
  const jobs = new ServedJobs(layout, () => found);
  const [job] = await installedJobs(layout, [id]);
  const begun = performance.now();
  const now = new Date().toISOString();
  const { target, release } = job!;
  const run = { due: now, begun: now, target, release, boot: await thisBoot(), started: true };
  try {
    await jobs.start(job!, async () => undefined);
    let outcome: Outcome;
    do {
      await sleep(PAUSE_MS, undefined, { signal });
      outcome = await jobs.look(id, { ...run, before: "", ended: null, fault: null });
    } while (outcome === "runs");
    const fault = outcome === "never" ? "it was not started" : outcome.fault;
    if (fault !== null) throw deploymentError("unhealthy", `The job ${id} failed: ${fault}.`);
    emit({ event: "trial.ended", duration_ms: Math.round(performance.now() - begun) });
  } finally {
    await jobs.end();
  }
}
