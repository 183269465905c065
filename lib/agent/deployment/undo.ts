import { join } from "node:path";
import { asSealiftError, type SealiftError } from "../../contract/errors.ts";
import { HOST_FOLDER, START } from "../../contract/files/application-names.ts";
import type { Journal, JournalEntry } from "../../releases/journal.ts";
import { isApplication, type Item, type Layout } from "../../releases/layout.ts";
import { itemOfUnit, unitKey } from "../../releases/names.ts";
import { currentName, currentRelease, namedUnits } from "../../releases/release.ts";
import { undoSwitch } from "../../releases/switch.ts";
import { statsOf } from "../../support/files.ts";
import { isApplicationUnit } from "../applications/root-supervisor.ts";
import type { Emit } from "../base/events.ts";
import { writeReport } from "../reports/report.ts";
import type { SupervisorChoice } from "../supervisors/supervisor.ts";
import { GoneBack, reportOfBack } from "./ask-back.ts";
import type { Deployed, Run } from "./run.ts";
import { pluginsAmong, supervisorOf } from "./supervision.ts";

/** Time limit for restarting units during an undo, in milliseconds; nothing interrupts it. */
const UNDO_LIMIT_MS = 300_000;

interface Bringing {
  supervisor: SupervisorChoice;
  emit: Emit;
  wasVisible: boolean;
  rebooted?: boolean;
}

/** Units of an undone deployment that are to run. */
export interface Brought {
  units: (string | null)[];
  /** Those of them whose supervisor did not hear of it: they may still run what was undone. */
  untold: (string | null)[];
}

/**
 * Restarts the units that an undone deployment touched, so that they run what the links now name. One that does not
 * start is tried again by its supervisor, as at the boot: here its failure is a warning.
 *
 * @param wasVisible whether the release may have been what the links named: then a supervisor may have started any
 *   application from it by itself
 * @param rebooted whether the machine has restarted meanwhile: then a supervisor has started every unit
 */
export async function bringBack(
  layout: Layout,
  entry: JournalEntry,
  { supervisor, emit, wasVisible, rebooted = false }: Bringing,
): Promise<Brought> {
  const apps = wasVisible ? [...entry.previous_items, ...entry.items].filter(isApplication).map(unitKey) : [];
  const back = wasVisible && rebooted ? await currentRelease(layout, entry.target) : undefined;
  const units = new Set([...entry.touched, ...apps, ...(back === undefined ? [] : namedUnits(back))]);
  const touched = [...units].filter((unit) => isApplicationUnit(unit) || supervisor.name !== "none");
  const brought: Brought = { units: [], untold: [] };
  if (touched.length === 0) return brought;
  const switched = entry.phase === "switching";
  const previous = pluginsAmong(entry.previous_items);
  const running = switched ? entry.previous_items : ((await currentRelease(layout, entry.target))?.items ?? []);
  const supervised = supervisorOf(layout, supervisor, running);
  const signal = AbortSignal.timeout(UNDO_LIMIT_MS);
  for (const unit of touched) {
    const remains = isApplicationUnit(unit)
      ? await hasLauncher(layout, itemOfUnit(unit))
      : !switched || (unit === null ? previous.length > 0 : previous.includes(unit));
    if (remains) brought.units.push(unit);
    try {
      if (remains) await supervised.recover(unit, signal);
      else await supervised.stop(unit, signal);
    } catch (error) {
      if (remains && asSealiftError(error).code === "supervisor_unavailable") brought.untold.push(unit);
      const what = `${unit ?? "the project"} could not be ${remains ? "restarted" : "stopped"}`;
      emit({ event: "warning", message: `After the rollback ${what}: ${(error as Error).message}` });
    }
  }
  return brought;
}

/** True for an application that is linked and was installed by an agent: an adopted one was never started by it. */
const hasLauncher = async (layout: Layout, item: Item): Promise<boolean> =>
  (await statsOf(join(layout.link(item), HOST_FOLDER, START))) !== undefined;

/**
 * Reverts a failed deployment: condemns the version, undoes the switch, starts again what ran before, and forgets the
 * journal. Nobody is asked yet whether what ran before works.
 *
 * @param condemn judges the version by its error. `switched`: whether the release was current then
 * @returns the error to report, or what was gone back to, where a release had been replaced
 */
export async function undo(
  run: Run<Deployed>,
  journal: Journal,
  error: SealiftError,
  condemn?: (error: SealiftError, switched: boolean) => Promise<void>,
): Promise<SealiftError | GoneBack> {
  const { layout, options, emit } = run;
  const { phase, touched, previous, target, release } = journal.entry;
  const switched = phase === "switching";
  // A full disk may end a switch before its rename: then nothing was replaced, and the release has not failed.
  const replaced = switched && (await currentName(layout, target).catch(() => undefined)) === release;
  const visible = switched || touched.length > 0;
  if (visible) emit({ event: "rollback.started", reason: error.message });
  const attempt = async <T>(work: () => Promise<T>, rest: string): Promise<T | undefined> => {
    try {
      return await work();
    } catch (thrown) {
      const message = `Undoing the deployment met a problem: ${(thrown as Error).message}. ${rest}`;
      emit({ event: "warning", message });
      return undefined;
    }
  };
  // Before anything starts or migrates, which takes its time: a kill meanwhile must not let the version in again.
  const isCondemned = await (condemn?.(error, switched) ?? Promise.resolve()).then(
    () => true,
    () => false,
  );
  const brought = await attempt(async () => {
    await undoSwitch(journal);
    return bringBack(layout, journal.entry, { supervisor: options.supervisor, emit, wasVisible: replaced });
  }, "The next run finishes it.");
  // The way back has freed what the version took of a full disk.
  if (!isCondemned) await attempt(async () => condemn?.(error, switched), "The version is not in quarantine.");
  // An undo that failed claims nothing.
  if (brought === undefined) return error;
  const isBack = replaced && previous !== null && error.code !== "interrupted";
  const before = journal.entry.previous_items.filter(isApplication).map(unitKey);
  const byHand = before.filter((unit) => !brought.units.includes(unit));
  const gone = isBack ? new GoneBack(error, brought, byHand) : undefined;
  if (gone !== undefined) {
    const first = await reportOfBack(run, gone, { state: "not_asked" });
    await writeReport(layout, target, first).catch(() => undefined);
  }
  await attempt(() => journal.clear(), "The next run finishes it.");
  if (visible) emit({ event: "rollback.done", release: previous });
  return gone ?? error;
}
