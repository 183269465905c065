import { join } from "node:path";
import { isJob } from "../contract/files/application-kinds.ts";
import { statsOf } from "../support/files.ts";
import { readInstalled } from "./applications.ts";
import type { Job } from "./job-scheduler.ts";
import { readJournal } from "./journal.ts";
import type { Layout } from "./layout.ts";

/** Tells whether a run is switching a project root, or was cut short in it: then it is open what its jobs are. */
export async function isSwitching(layout: Layout): Promise<boolean> {
  const entry = await readJournal(layout);
  return entry !== undefined && entry.phase !== "committed";
}

/** Returns those of some applications that are installed and jobs. One that cannot be read is none. */
export async function installedJobs(layout: Layout, ids: readonly string[]): Promise<Job[]> {
  const found: Job[] = [];
  for (const id of ids) {
    const installed = await readInstalled(layout, id).catch(() => undefined);
    if (installed === undefined || !isJob(installed.app)) continue;
    // The operator has stopped it.
    if ((await statsOf(join(layout.sealift, "state", "stopped", id))) !== undefined) continue;
    const { app, target, release } = installed;
    const since = (await statsOf(layout.current(target)))?.mtimeMs ?? Date.now();
    found.push({ id, app: { ...app, schedule: app.schedule! }, since, target, release });
  }
  return found;
}
