import { isJob } from "../../contract/files/application-kinds.ts";
import { MAX_RUN_FAULT, type ReportedApplication } from "../../contract/reports/applications.ts";
import type { MembershipKind } from "../../contract/surfaces/app-serve.ts";
import { readGrants, readInstalled } from "../../releases/applications.ts";
import { readJob } from "../../releases/jobs.ts";
import { isApplication, type Item, type Layout } from "../../releases/layout.ts";
import { unitKey } from "../../releases/names.ts";
import { restsSince } from "../../releases/stopped.ts";
import type { ApplicationRunner } from "../supervisors/application-units.ts";
import type { SupervisorChoice } from "../supervisors/supervisor.ts";

/** Facts of reports about the applications of a release, by id. */
interface ApplicationFacts {
  /** Ways in which their processes are told from others; for the local report. */
  membership?: Record<string, MembershipKind>;
  applications?: Record<string, ReportedApplication>;
}

/** States of systemd, in the words of `app serve`. */
const STATES: Readonly<Record<string, string>> = { active: "running", inactive: "stopped" };

/**
 * Looks at the applications among the items of a release, for a report; best effort.
 *
 * @param sick unhealthy units with what is wrong with each
 */
export async function applicationsToReport(
  layout: Layout,
  items: readonly Item[],
  { systemdScope, applications: own }: Pick<SupervisorChoice, "systemdScope" | "applications">,
  sick: Readonly<Record<string, string>> = {},
): Promise<ApplicationFacts> {
  const apps = items.filter(isApplication);
  if (apps.length === 0 || own !== undefined) return {};
  const grants = await readGrants(layout).catch(() => undefined);
  if (grants === undefined) return {};
  const { applicationRunner } = await import("../supervisors/applications.ts");
  const runner = applicationRunner({ layout, grants, systemdScope });
  const membership: Record<string, MembershipKind> = {};
  const applications: Record<string, ReportedApplication> = {};
  for (const item of apps) {
    // A supervisor that does not answer now has answered the health check.
    const found = await lookAt(layout, item.id, runner).catch(() => undefined);
    if (found === undefined) continue;
    if (found.membership !== undefined) membership[item.id] = found.membership;
    applications[item.id] = {
      ...found.told,
      ...(sick[unitKey(item)] !== undefined && found.told.state !== "stopped" && { state: "unhealthy" }),
    };
  }
  return {
    ...(Object.keys(membership).length > 0 && { membership }),
    ...(Object.keys(applications).length > 0 && { applications }),
  };
}

/** Looks at one application, in as few words as a report needs. */
async function lookAt(
  layout: Layout,
  id: string,
  runner: ApplicationRunner,
): Promise<{ told: ReportedApplication; membership?: MembershipKind }> {
  const stopped = await restsSince(layout, id);
  const installed = await readInstalled(layout, id);
  if (installed !== undefined && isJob(installed.app)) {
    const run = (await readJob(layout, id))?.run ?? undefined;
    const state = stopped !== undefined ? "stopped" : run?.ended === null ? "running" : "waiting";
    return { told: { state, ...(run !== undefined && { last: run.begun, ...faultOf(run.fault) }) } };
  }
  const { state, since, restarts, membership } = await runner.look(id);
  const told = {
    state: stopped === undefined ? (STATES[state] ?? state) : "stopped",
    ...((stopped ?? since) !== null && { since: stopped ?? since! }),
    ...(restarts > 0 && { restarts }),
  };
  return { told, ...(membership !== null && { membership }) };
}

const faultOf = (fault: string | null): Pick<ReportedApplication, "fault"> =>
  fault === null ? {} : { fault: fault.slice(0, MAX_RUN_FAULT) };
