import { deploymentError } from "../../contract/errors.ts";
import { addressNames } from "../../contract/files/address-variables.ts";
import type { Application } from "../../contract/files/application.ts";
import { APPLICATIONS_FILE } from "../../contract/files/application-names.ts";
import type { ApplicationsFile } from "../../contract/files/applications.ts";
import { beyond } from "../../contract/files/limit-forms.ts";
import { hostAndPort } from "../../contract/files/socket-address.ts";
import { readGrants } from "../../releases/applications.ts";
import type { Layout } from "../../releases/layout.ts";
import { restsSince } from "../../releases/stopped.ts";
import { isAnswered } from "../../support/network/is-answered.ts";
import { capital, type SupervisorChoice } from "../supervisors/supervisor.ts";
import type { Applications } from "./descriptors.ts";
import { requirePrograms } from "./programs.ts";
import { supervisorOfRoot } from "./root-supervisor.ts";

/** Applications that a run is about to switch to. */
export interface ApplicationsToRun {
  layout: Layout;
  apps: Applications;
  /** Those of them that run already. */
  running: ReadonlySet<string>;
  supervisor: SupervisorChoice;
  signal: AbortSignal;
}

/** Refusal that holds a version: nothing of it is to blame. */
export interface Refusal {
  message: string;
  faults: string[];
  /** Whether only a change of the operator's file can end it. */
  isLasting: boolean;
}

/**
 * Decides whether this host may and can run the applications of a release. Changes nothing.
 *
 * @returns why they are not allowed, if they are not
 * @throws DeploymentError `supervisor_unavailable`, `needs_unmet`, `port_taken`
 */
export async function admitApplications(request: ApplicationsToRun): Promise<Refusal | undefined> {
  const { apps, running, signal } = request;
  if (apps.size === 0) return undefined;
  const { refusal, opened, grants } = await mayStart(request);
  if (refusal !== undefined) return refusal;
  await requirePrograms(apps, signal);
  for (const [id, app] of apps)
    if (!running.has(id) && (await restsSince(request.layout, id)) === undefined)
      await requireFreePorts(id, opened.has(id) ? app.ports : addressNames(app), grants!);
  return undefined;
}

/**
 * Decides whether a supervisor may start applications now: the operator grants them, and it can work. Changes nothing.
 *
 * @returns why not, if not, and the ids of those whose sockets are open already
 * @throws DeploymentError `supervisor_unavailable`
 */
export async function mayStart(
  request: Omit<ApplicationsToRun, "running">,
): Promise<{ refusal?: Refusal; opened: ReadonlySet<string>; grants: ApplicationsFile | undefined }> {
  const { layout, apps, signal } = request;
  const grants = await readGrants(layout);
  const opened = new Set<string>();
  const refusal = refusalBy(grants, apps);
  if (refusal !== undefined) return { refusal, opened, grants };
  const supervisor = await supervisorOfRoot(layout, request.supervisor);
  const why = await supervisor.ready(signal);
  if (why !== undefined)
    throw deploymentError("supervisor_unavailable", `${capital(why)}: the applications' supervisor cannot work.`, {
      hint: "The release is not to blame. Start it: `sealift app serve`, or systemd.",
    });
  for (const [id, app] of apps) {
    const { lacks, isOpen = false } = (await supervisor.prospect?.(id, signal, app)) ?? {};
    if (lacks !== undefined) {
      const message = `The host cannot run ${id}: ${lacks}.`;
      return { refusal: { message, faults: [], isLasting: false }, opened, grants };
    }
    if (isOpen) opened.add(id);
  }
  return { opened, grants };
}

function refusalBy(grants: ApplicationsFile | undefined, apps: Applications): Refusal | undefined {
  const faults = [...apps].flatMap(([id, app]) => grantFaults(grants?.applications ?? {}, id, app));
  if (faults.length === 0) return undefined;
  const where = grants === undefined ? `there is no ${APPLICATIONS_FILE}` : `by ${APPLICATIONS_FILE}`;
  const message = `${capital(faults.join("; "))} (${where} in the project root).`;
  return { message, faults, isLasting: true };
}

/** Lists the rights that an application needs and the operator's grants do not give. */
function grantFaults(granted: ApplicationsFile["applications"], id: string, app: Application): string[] {
  const grant = granted[id];
  if (grant === undefined) return [`the application ${id} is not allowed to run`];
  // Both must name the same application: a version must not choose whose settings and data it gets.
  if (grant.of !== app.of) {
    const may = grant.of === undefined ? "one of its own" : `one that is of ${grant.of}`;
    return [`the application ${id} is of ${app.of ?? "nobody"} in this version, and allowed to run as ${may}`];
  }
  if (grant.of !== undefined && granted[grant.of] === undefined)
    return [`the application ${id} is of ${grant.of}, which is not allowed to run`];
  return [
    ...addressNames(app)
      .filter((name) => grant.listen[name] === undefined)
      .map((name) => `the application ${id} has no address for ${name}`),
    ...beyond(app.limits ?? {}, grant.limits ?? {}).map((more) => `the application ${id} asks for ${more}`),
  ];
}

/** Requires that nobody answers where an application is to listen. @throws DeploymentError `port_taken` */
async function requireFreePorts(id: string, names: readonly string[], { applications }: ApplicationsFile) {
  for (const name of names) {
    const at = applications[id]!.listen[name]!;
    if (!(await isAnswered(hostAndPort(at)))) continue;
    throw deploymentError("port_taken", `Another program answers on ${at}, the address ${name} of ${id}.`, {
      hint: `Nothing was switched. End that program, or give ${id} another address in ${APPLICATIONS_FILE}.`,
    });
  }
}
