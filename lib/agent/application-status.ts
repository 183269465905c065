import { asSealiftError, deploymentError, type SealiftError } from "../contract/errors.ts";
import { isJob } from "../contract/files/application-kinds.ts";
import { APPLICATIONS_FILE } from "../contract/files/application-names.ts";
import { grantOf } from "../contract/files/granted.ts";
import type { AppLimits } from "../contract/files/limit-forms.ts";
import { type InstalledApplication, knownApplications, readGrants, readInstalled } from "../releases/applications.ts";
import { dueAt, iso } from "../releases/due.ts";
import { type JobRecord, readJob } from "../releases/jobs.ts";
import type { Layout } from "../releases/layout.ts";
import { readRelease } from "../releases/release.ts";
import { restsSince, stoppedSince } from "../releases/stopped.ts";
import type { ProcessState } from "./supervisors/application-units.ts";
import { applicationRunner, applicationSupervisor } from "./supervisors/applications.ts";
import type { SystemdScope } from "./supervisors/systemd-units.ts";

/** Time limit of a look at a process, in milliseconds. */
const LOOK_MS = 5_000;

/** State of an application of a project root. */
export interface ApplicationState extends Omit<ProcessState, "sameUser"> {
  id: string;
  /** Version that is installed; null for none. */
  version: string | null;
  /** Whether it can read what the program that runs it can. */
  same_user: boolean;
  /** Addresses that the operator gives it, by name. */
  addresses: Readonly<Record<string, string>>;
  /** Limits that the operator sets. */
  limits: AppLimits;
  /** Time since when an operator has it stopped (`sealift app stop`); null for one that may run. */
  stopped_since: string | null;
  /** Whether it works now; null where nothing is installed, nobody may run it, or it is stopped on purpose. */
  healthy: boolean | null;
  /** Reason why it does not work, if any. */
  fault: string | null;
  /** Next time of a job; null for a program that runs all the time, and for a job that may not run. */
  next: string | null;
  /** Time at which a job was begun last; null for never. */
  last: string | null;
  /** End of that run: `well`, `running`, or why it failed. */
  outcome: string | null;
}

const UNASKED: ProcessState = {
  ...{ state: "unknown", since: null, pid: null, restarts: 0, user: null },
  ...{ sameUser: false, membership: null, used: null, unenforced: [] },
};

/**
 * Asks about the applications that a root has installed or grants. Changes nothing.
 *
 * @returns the state of each, with the error of one that is installed and does not work
 * @throws UsageError `config_invalid`
 */
export async function* applicationStates(
  layout: Layout,
  ids: readonly string[],
  systemdScope: SystemdScope,
): AsyncGenerator<{ application: ApplicationState; error?: SealiftError }> {
  const grants = await readGrants(layout);
  const setting = grants && { layout, grants, systemdScope };
  const runner = setting && applicationRunner(setting);
  const supervisor = setting && applicationSupervisor(setting);
  for (const id of ids.length > 0 ? ids : await knownApplications(layout)) {
    const grant = grantOf(grants?.applications, id);
    const installed = await readInstalled(layout, id);
    const stopped = await stoppedSince(layout, id);
    // One that is of a stopped one waits for it, and is not unhealthy.
    const rests = stopped ?? (await restsSince(layout, id));
    const release = installed && (await readRelease(layout, installed.target, installed.release));
    const job = installed !== undefined && isJob(installed.app) ? await readJob(layout, id) : undefined;
    let found = UNASKED;
    let error: SealiftError | undefined;
    try {
      if (runner === undefined || supervisor === undefined || grant === undefined)
        throw deploymentError("app_not_allowed", `${APPLICATIONS_FILE} does not grant ${id}.`);
      found = installed !== undefined && isJob(installed.app) ? ofJob(job) : await runner.look(id);
      const fault = installed && (await supervisor.look?.(id, LOOK_MS))?.fault;
      if (fault !== undefined) error = deploymentError("unhealthy", fault);
    } catch (thrown) {
      error = asSealiftError(thrown);
    }
    const { sameUser, ...process } = found;
    const fault = rests === undefined ? (error?.message ?? null) : null;
    const application = {
      ...{ id, ...process, same_user: sameUser, version: release?.version ?? null, addresses: grant?.listen ?? {} },
      ...(stopped !== undefined && process.pid === null && { state: "stopped", since: stopped }),
      limits: grant?.limits ?? {},
      // A unit may have limits that are not in the grant, such as systemd's default of tasks.
      unenforced: process.unenforced.filter((name) => grant?.limits?.[name] !== undefined),
      stopped_since: stopped ?? null,
      healthy: installed === undefined || grant === undefined || rests !== undefined ? null : fault === null,
      fault: fault?.replace(/\.$/, "") ?? null,
      ...timesOf(grant === undefined ? undefined : installed?.app, job, Date.now()),
    };
    const isIll = installed !== undefined && rests === undefined;
    yield { application, ...(isIll && error !== undefined && { error }) };
  }
}

/** Returns the state of a job, whose runs are processes of their own. */
const ofJob = (job: JobRecord | undefined): ProcessState => {
  const run = job?.run;
  const isRunning = run?.ended === null;
  return { ...UNASKED, state: isRunning ? "running" : "waiting", since: isRunning ? run.begun : (run?.ended ?? null) };
};

/** Returns the times of a job, as its record tells them. */
function timesOf(
  app: InstalledApplication["app"] | undefined,
  job: JobRecord | undefined,
  now: number,
): Pick<ApplicationState, "next" | "last" | "outcome"> {
  if (app?.schedule === undefined) return { next: null, last: null, outcome: null };
  const { next } = dueAt({ ...app, schedule: app.schedule }, job, now, undefined);
  const run = job?.run ?? null;
  const outcome = run === null ? null : run.ended === null ? "running" : (run.fault ?? "well");
  return { next: next === undefined ? null : iso(next), last: run?.begun ?? null, outcome };
}
