import { join } from "node:path";
import { deploymentError, type SealiftError } from "../../contract/errors.ts";
import { HOST_FOLDER, START } from "../../contract/files/application-names.ts";
import type { Journal, JournalEntry } from "../../releases/journal.ts";
import { isApplication, type Item, type Layout } from "../../releases/layout.ts";
import { itemOfUnit, unitKey } from "../../releases/names.ts";
import { currentName, currentRelease, namedUnits } from "../../releases/release.ts";
import { undoSwitch } from "../../releases/switch.ts";
import { statsOf } from "../../support/files.ts";
import { isApplicationUnit } from "../applications/root-supervisor.ts";
import type { Emit } from "../base/events.ts";
import type { SupervisorChoice } from "../supervisors/supervisor.ts";
import type { Deployed, Run } from "./run.ts";
import { pluginsAmong, supervisorOf } from "./supervision.ts";

/** Time limit for restarting units during an undo, in milliseconds; nothing interrupts it. */
const UNDO_LIMIT_MS = 300_000;

const LOGS = "See the report and the plugin's logs; the version stays in quarantine until a newer one comes.";

interface Bringing {
  supervisor: SupervisorChoice;
  emit: Emit;
  wasVisible: boolean;
  rebooted?: boolean;
}

/**
 * Restarts the units that an undone deployment touched, so that they run what the links now name. Failures are
 * warnings.
 *
 * @param wasVisible whether the release may have been what the links named: then a supervisor may have started any
 *   application from it by itself
 * @param rebooted whether the machine has restarted meanwhile: then a supervisor has started every unit
 */
export async function bringBack(
  layout: Layout,
  entry: JournalEntry,
  { supervisor, emit, wasVisible, rebooted = false }: Bringing,
): Promise<void> {
  const apps = wasVisible ? [...entry.previous_items, ...entry.items].filter(isApplication).map(unitKey) : [];
  const back = wasVisible && rebooted ? await currentRelease(layout, entry.target) : undefined;
  const units = new Set([...entry.touched, ...apps, ...(back === undefined ? [] : namedUnits(back))]);
  const touched = [...units].filter((unit) => isApplicationUnit(unit) || supervisor.name !== "none");
  if (touched.length === 0) return;
  const switched = entry.phase === "switching";
  const previous = pluginsAmong(entry.previous_items);
  const running = switched ? entry.previous_items : ((await currentRelease(layout, entry.target))?.items ?? []);
  const supervised = supervisorOf(layout, supervisor, running);
  const signal = AbortSignal.timeout(UNDO_LIMIT_MS);
  for (const unit of touched) {
    const remains = isApplicationUnit(unit)
      ? await hasLauncher(layout, itemOfUnit(unit))
      : !switched || (unit === null ? previous.length > 0 : previous.includes(unit));
    try {
      if (remains) await supervised.restart(unit, signal);
      else await supervised.stop(unit, signal);
    } catch (error) {
      const what = `${unit ?? "the project"} could not be ${remains ? "restarted" : "stopped"}`;
      emit({ event: "warning", message: `After the rollback ${what}: ${(error as Error).message}` });
    }
  }
}

/** True for an application that is linked and was installed by an agent: an adopted one was never started by it. */
const hasLauncher = async (layout: Layout, item: Item): Promise<boolean> =>
  (await statsOf(join(layout.link(item), HOST_FOLDER, START))) !== undefined;

/**
 * Reverts a failed deployment.
 *
 * @returns the error to report: `rolled_back` where a release had been replaced
 */
export async function undo(
  { layout, options, emit }: Run<Deployed>,
  journal: Journal,
  error: SealiftError,
): Promise<SealiftError> {
  const { phase, touched, previous, target, release } = journal.entry;
  const switched = phase === "switching";
  // A full disk may end a switch before its rename: then nothing was replaced, and the release has not failed.
  const replaced = switched && (await currentName(layout, target).catch(() => undefined)) === release;
  const visible = switched || touched.length > 0;
  if (visible) emit({ event: "rollback.started", reason: error.message });
  try {
    await undoSwitch(journal);
    await bringBack(layout, journal.entry, { supervisor: options.supervisor, emit, wasVisible: replaced });
    await journal.clear();
  } catch (undoing) {
    const why = (undoing as Error).message;
    const message = `Undoing the deployment met a problem: ${why}. The next run finishes it.`;
    emit({ event: "warning", message });
  }
  if (visible) emit({ event: "rollback.done", release: previous });
  if (!replaced || previous === null || error.code === "interrupted") return error;
  return deploymentError("rolled_back", `${error.message} The previous release is back.`, {
    cause: error,
    // The previous release runs again: its program, run by hand, would only succeed.
    hint: error.code === "supervisor_failed" ? LOGS : (error.hint ?? LOGS),
  });
}
