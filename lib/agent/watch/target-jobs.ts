import { readGrants } from "../../releases/applications.ts";
import { installedJobs, isSwitching } from "../../releases/installed-jobs.ts";
import { type Job, type JobEvent, JobScheduler } from "../../releases/job-scheduler.ts";
import { isApplication } from "../../releases/layout.ts";
import { currentRelease } from "../../releases/release.ts";
import { UnitJobs } from "../applications/unit-jobs.ts";
import type { Source } from "../sources/source.ts";
import type { LoopContext, WatchTarget } from "./target.ts";
import type { WatchedRoot } from "./watched-root.ts";

/**
 * Begins the jobs of a target at their times, where systemd runs its applications: `app serve` begins its own. Costs no
 * process while they wait.
 */
export function jobsOf(
  { target }: Source,
  root: WatchedRoot,
  definition: () => WatchTarget,
  { emit }: LoopContext,
  signal: AbortSignal,
): AsyncDisposable {
  const warn = (message: string): void => emit({ event: "warning", target: definition().name, message });
  // Records of an `app serve` are its own.
  let isOurs = false;
  const jobs = async (): Promise<Job[] | undefined> => {
    await root.enter(definition().options);
    const { layout } = root;
    const release = await currentRelease(layout, target);
    const apps = (release?.items ?? []).filter(isApplication);
    const grants = apps.length === 0 ? undefined : await readGrants(layout);
    isOurs = grants?.supervisor === "systemd";
    if (!isOurs) return [];
    if (await isSwitching(layout)) return undefined;
    const granted = apps.map(({ id }) => id).filter((id) => grants?.applications[id] !== undefined);
    return (await installedJobs(layout, granted)).filter((job) => job.target === target);
  };
  const scheduler = new JobScheduler({
    get layout() {
      return root.layout;
    },
    get launcher() {
      return new UnitJobs(root.layout, definition().options.supervisor.systemdScope ?? "system");
    },
    jobs,
    owns: (run) => isOurs && run?.target === target,
    emit: (event) => {
      const message = troubleOf(event);
      if (message !== undefined) warn(message);
    },
  });
  const ended = scheduler.run(signal, warn);
  return { [Symbol.asyncDispose]: () => ended };
}

/** Describes what went wrong with a job; undefined while nothing does. */
function troubleOf(event: JobEvent): string | undefined {
  if (event.event === "job.skipped") return `The job ${event.id} is left out at ${event.due}: the run before goes on.`;
  return event.event === "job.ended" && event.message !== null
    ? `The job ${event.id} failed: ${event.message}.`
    : undefined;
}
