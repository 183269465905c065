import { basename, dirname } from "node:path";
import type { TargetName } from "../../contract/target.ts";
import { readGrants } from "../../releases/applications.ts";
import { releasesOfJobs } from "../../releases/jobs.ts";
import type { Layout } from "../../releases/layout.ts";
import { releasesRunIn } from "../../releases/runs.ts";
import { inquire, READY_TIMEOUT_MS } from "../supervisors/supervisor.ts";
import { systemctl, type SystemdScope } from "../supervisors/systemd-units.ts";

/** Returns the releases of a target in which a job runs, or what somebody has typed (`app run`). */
export async function releasesInUse(
  layout: Layout,
  target: TargetName,
  scope: SystemdScope = "system",
): Promise<Set<string>> {
  const [jobs, typed] = await Promise.all([releasesOfJobs(layout, target), releasesTypedIn(layout, target, scope)]);
  return jobs.union(typed);
}

/** Returns the releases of a target in which somebody has typed a command that still runs. */
export async function releasesTypedIn(
  layout: Layout,
  target: TargetName,
  scope: SystemdScope = "system",
): Promise<Set<string>> {
  const [runs, units] = await Promise.all([releasesRunIn(layout, target), runUnits(layout, target, scope)]);
  return runs.union(units);
}

/** Returns the releases in which units of `app run` run, by the folders that they run in. */
async function runUnits(layout: Layout, target: TargetName, scope: SystemdScope): Promise<Set<string>> {
  const grants = await readGrants(layout).catch(() => undefined);
  if (grants?.supervisor !== "systemd") return new Set();
  const words = systemctl(scope, "show", "--property=WorkingDirectory", "sealift-run-*.service");
  const { code, stdout } = await inquire(words, READY_TIMEOUT_MS);
  if (code !== 0) throw new Error(`\`${words.join(" ")}\` failed`);
  const folders = stdout.split("\n").flatMap((line) => /^WorkingDirectory=!?(.*)$/.exec(line)?.[1] ?? []);
  // `<releases>/<target>/<release>/apps/<id>`
  const releases = folders.map((folder) => dirname(dirname(folder)));
  return new Set(releases.filter((path) => basename(dirname(path)) === target).map((path) => basename(path)));
}
