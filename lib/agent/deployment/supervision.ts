import { deploymentError, type SealiftError } from "../../contract/errors.ts";
import { itemDigests } from "../../releases/contents.ts";
import type { Item, Layout } from "../../releases/layout.ts";
import { itemOfUnit, releaseName } from "../../releases/names.ts";
import { saysOfTheRelease } from "../../releases/quarantine.ts";
import { readRelease } from "../../releases/release.ts";
import {
  isApplicationUnit,
  type RecoveringSupervisor,
  supervisorOfRoot,
  withApplications,
} from "../applications/root-supervisor.ts";
import { capital, noSupervisor, type Supervisor, type SupervisorChoice } from "../supervisors/supervisor.ts";
import type { Deployed, Run } from "./run.ts";

/** Returns the ids of the plugins among items. */
export const pluginsAmong = (items: readonly Item[]): string[] =>
  items.filter(({ section }) => section === "plugins").map(({ id }) => id);

/** Makes a supervisor for the units of these items. */
export const supervisorOf = (layout: Layout, choice: SupervisorChoice, items: readonly Item[]): RecoveringSupervisor =>
  withApplications(choice.make?.(pluginsAmong(items)) ?? noSupervisor(), layout, choice);

/** Makes a supervisor for a release that is switched to; its checks fail a plugin that runs from another release. */
export function supervisorOfRelease(
  { layout, source, options }: Run<Deployed>,
  name: string,
  items: readonly Item[],
): Supervisor {
  const digestOf = async (release: string, plugin: string): Promise<string | undefined> => {
    const record = await readRelease(layout, source.target, release);
    const digests = record && (await itemDigests(layout.release(source.target, release), record));
    return digests?.get(`plugins/${plugin}`);
  };
  const isCurrent = async (plugin: string, release: string): Promise<boolean> => {
    if (release === name) return true;
    if (!releaseName.safeParse(release).success) return false;
    const digest = await digestOf(name, plugin);
    return digest !== undefined && digest === (await digestOf(release, plugin));
  };
  const plugins = options.supervisor.make?.(pluginsAmong(items), isCurrent) ?? noSupervisor();
  return withApplications(plugins, layout, options.supervisor);
}

/** Checks whether the chosen supervisor works. @returns the error if it does not */
async function trouble({ options, signal }: Run<Deployed>, cause?: SealiftError): Promise<SealiftError | undefined> {
  const { name, make } = options.supervisor;
  const why = await make?.([]).ready(cause === undefined ? signal : undefined);
  if (why === undefined) return undefined;
  return deploymentError("supervisor_unavailable", `${capital(why)}: the supervisor ${name} cannot work.`, {
    ...(cause !== undefined && { cause }),
    hint: "The release is not to blame. Start the supervisor, or choose another --supervisor; `sealift doctor` asks it, too.",
  });
}

/**
 * Rejects a run before any change when its supervisor does not work.
 *
 * @throws DeploymentError `supervisor_unavailable`
 */
export async function checkSupervisor(run: Run<Deployed>): Promise<void> {
  const error = await trouble(run);
  if (error !== undefined) throw error;
}

/**
 * Returns the error to blame for a failed step: that of the host when its supervisor has stopped working meanwhile.
 *
 * @param touched units that the run has acted on
 */
export async function blamed(
  run: Run<Deployed>,
  error: SealiftError,
  touched: readonly (string | null)[],
): Promise<SealiftError> {
  if (!saysOfTheRelease(error)) return error;
  // Before anything is brought back, which would write to the same log.
  await noteLog(run);
  const apps = touched.filter(isApplicationUnit).map((unit) => itemOfUnit(unit).id);
  return (await trouble(run, error)) ?? (await troubleOfApplications(run, apps, error)) ?? error;
}

/** Keeps the last lines of the application that has failed for the report, unless its operator wants none. */
async function noteLog({ options, draft, layout, signal, isTrial }: Run<Deployed>): Promise<void> {
  const unit = draft.failedUnit;
  if (unit === null || !isApplicationUnit(unit) || options.logInReports === false || isTrial === true) return;
  const { logTail } = await import("../supervisors/log-tail.ts");
  draft.logged(await logTail(layout, itemOfUnit(unit), { systemdScope: options.supervisor.systemdScope, signal }));
}

/** Checks whether the root's applications can be supervised still. @returns the error if they cannot */
async function troubleOfApplications(
  { layout, options }: Run<Deployed>,
  ids: readonly string[],
  cause: SealiftError,
): Promise<SealiftError | undefined> {
  if (ids.length === 0) return undefined;
  const unavailable = (why: string) =>
    deploymentError("supervisor_unavailable", `${capital(why)}: the applications' supervisor cannot work.`, { cause });
  try {
    const supervisor = await supervisorOfRoot(layout, options.supervisor);
    const why = await supervisor.ready();
    if (why !== undefined) return unavailable(why);
    for (const id of ids) {
      const { lacks } = (await supervisor.prospect?.(id)) ?? {};
      if (lacks !== undefined) return unavailable(lacks);
    }
    return undefined;
  } catch (error) {
    return unavailable((error as Error).message.replace(/\.$/, ""));
  }
}
