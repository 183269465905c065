import { readdir } from "node:fs/promises";
import { asSealiftError } from "../contract/errors.ts";
import { APPLICATIONS_FOLDER } from "../contract/files/application-names.ts";
import type { ApplicationsFile } from "../contract/files/applications.ts";
import type { TargetName } from "../contract/target.ts";
import { readGrants } from "../releases/applications.ts";
import { isApplication, type Layout } from "../releases/layout.ts";
import { unitKey } from "../releases/names.ts";
import { currentRelease, namedUnits, type Release } from "../releases/release.ts";
import { restsSince } from "../releases/stopped.ts";
import { applicationSupervisor } from "./supervisors/applications.ts";
import type { Supervisor, SupervisorChoice } from "./supervisors/supervisor.ts";

/** Time limit of one question, in milliseconds. */
const LIMIT_MS = 2_000;

/** State of a unit that should run; without a fault it does. */
export interface UnitState {
  /** Target that it belongs to; undefined for what concerns the whole root. */
  target?: TargetName;
  /** Plugin, `apps/<id>`, or `project`. */
  unit: string;
  fault: string | undefined;
  /** Since when an operator has it stopped, ISO 8601; undefined for one that is to run. */
  stopped?: string | undefined;
}

/**
 * Asks every unit of the running releases whether it works: those of applications, and those of plugins where systemd
 * or docker runs them. Changes nothing.
 */
export async function* unitStates(layout: Layout, choice: SupervisorChoice): AsyncGenerator<UnitState> {
  const ofPlugins = choice.name === "systemd" || choice.name === "docker" ? choice.make?.([]) : undefined;
  let grants: ApplicationsFile | undefined;
  try {
    grants = await readGrants(layout);
  } catch (error) {
    yield { unit: APPLICATIONS_FOLDER, fault: asSealiftError(error).message.replace(/\.$/, "") };
  }
  const { systemdScope } = choice;
  const ofApplications = grants === undefined ? undefined : applicationSupervisor({ layout, grants, systemdScope });
  for (const target of (await readdir(layout.releases()).catch(() => [])).toSorted() as TargetName[]) {
    const release = await currentRelease(layout, target);
    if (release === undefined) continue;
    for (const plugin of plannedUnits(release, ofPlugins))
      yield { target, ...(await stateOf(plugin ?? "project", plugin, ofPlugins!)) };
    for (const item of ofApplications === undefined ? [] : release.items.filter(isApplication))
      yield {
        ...{ target, ...(await stateOf(unitKey(item), item.id, ofApplications!)) },
        stopped: await restsSince(layout, item.id),
      };
  }
}

const plannedUnits = (release: Release, supervisor: Supervisor | undefined): Iterable<string | null> =>
  supervisor === undefined ? [] : [...namedUnits(release)].filter((unit) => unit === null || !unit.includes("/"));

async function stateOf(unit: string, id: string | null, supervisor: Supervisor): Promise<UnitState> {
  const { fault } = await supervisor.look!(id, LIMIT_MS).catch((error: unknown) => ({
    fault: asSealiftError(error).message,
  }));
  return { unit, fault: fault?.replace(/\.$/, "") };
}
