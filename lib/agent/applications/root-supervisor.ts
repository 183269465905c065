import { deploymentError } from "../../contract/errors.ts";
import { APPLICATIONS_FILE } from "../../contract/files/application-names.ts";
import { readGrants } from "../../releases/applications.ts";
import { isApplication, type Layout } from "../../releases/layout.ts";
import { itemOfUnit } from "../../releases/names.ts";
import { passingStopped } from "../supervisors/stopped-applications.ts";
import type { Supervisor, SupervisorChoice } from "../supervisors/supervisor.ts";

/** True for the key of an application's unit. */
export const isApplicationUnit = (unit: string | null): unit is string =>
  unit !== null && isApplication(itemOfUnit(unit));

/**
 * Makes the supervisor of a root's applications, as the operator's `applications.yaml` names it.
 *
 * @throws DeploymentError `app_not_allowed` without that file; UsageError `config_invalid`
 */
export async function supervisorOfRoot(layout: Layout, choice: SupervisorChoice): Promise<Supervisor> {
  if (choice.applications !== undefined) return passingStopped(layout, await choice.applications(layout));
  const grants = await readGrants(layout);
  if (grants === undefined)
    throw deploymentError("app_not_allowed", `There is no ${APPLICATIONS_FILE} in ${layout.root}.`, {
      hint: "It names the supervisor of the root's applications (docs/contract/application.md).",
    });
  // Loaded only for roots with applications.
  const { applicationSupervisor } = await import("../supervisors/applications.ts");
  return applicationSupervisor({ layout, grants, systemdScope: choice.systemdScope });
}

/** Supervisor that can be told to go on trying. */
export type RecoveringSupervisor = Supervisor & Required<Pick<Supervisor, "recover">>;

/** Adds the units of applications to a supervisor of plugins: `apps/web` is the root's application `web`. */
export function withApplications(plugins: Supervisor, layout: Layout, choice: SupervisorChoice): RecoveringSupervisor {
  const act =
    (verb: "start" | "stop" | "restart") =>
    async (unit: string | null, signal?: AbortSignal): Promise<void> =>
      isApplicationUnit(unit)
        ? (await supervisorOfRoot(layout, choice))[verb](itemOfUnit(unit).id, signal)
        : plugins[verb](unit, signal);
  return {
    ...plugins,
    passes: async (unit) =>
      isApplicationUnit(unit) &&
      (await (await supervisorOfRoot(layout, choice)).passes?.(itemOfUnit(unit).id)) === true,
    start: act("start"),
    stop: act("stop"),
    restart: act("restart"),
    async recover(unit, signal) {
      const isApp = isApplicationUnit(unit);
      const supervisor = isApp ? await supervisorOfRoot(layout, choice) : plugins;
      const id = isApp ? itemOfUnit(unit).id : unit;
      await (supervisor.recover === undefined ? supervisor.restart(id, signal) : supervisor.recover(id, signal));
    },
    check: async (unit, timeoutMs, signal) =>
      isApplicationUnit(unit)
        ? (await supervisorOfRoot(layout, choice)).check(itemOfUnit(unit).id, timeoutMs, signal)
        : plugins.check(unit, timeoutMs, signal),
    async look(unit, timeoutMs, signal) {
      const isApp = isApplicationUnit(unit);
      const supervisor = isApp ? await supervisorOfRoot(layout, choice) : plugins;
      const id = isApp ? itemOfUnit(unit).id : unit;
      if (supervisor.look !== undefined) return supervisor.look(id, timeoutMs, signal);
      const fault = await supervisor.check(id, timeoutMs, signal);
      return { ...(fault !== undefined && { fault }), restarts: 0 };
    },
  };
}
