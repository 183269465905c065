import { setTimeout as sleep } from "node:timers/promises";
import { asSealiftError, deploymentError, type SealiftError } from "../../contract/errors.ts";
import type { LocalReport } from "../../contract/surfaces/reports.ts";
import { readInstalled } from "../../releases/applications.ts";
import { itemOfUnit } from "../../releases/names.ts";
import { type Release, whatRuns } from "../../releases/release.ts";
import { isApplicationUnit, type RecoveringSupervisor } from "../applications/root-supervisor.ts";
import { reportOf } from "../reports/draft.ts";
import type { Supervisor } from "../supervisors/supervisor.ts";
import type { Deployed, Run } from "./run.ts";
import { supervisorOf } from "./supervision.ts";
import type { Brought } from "./undo.ts";

/** Most time for asking what was gone back to, in milliseconds. */
const ASK_LIMIT_MS = 300_000;
/** Share of a check's own times for which it is repeated: a program that starts again takes its pauses. */
const PATIENCE = 2;
const PAUSE_MS = 500;
/** Time for which a supervisor may be away, in milliseconds. */
const AWAY_MS = 60_000;
/** Time limit of one look at a unit's process, in milliseconds. */
const LOOK_MS = 10_000;
/** Time in which a unit without a descriptor has to answer, in milliseconds. */
const UNIT_MS = 15_000;

const LOGS = "See the report and the plugin's logs; the version stays in quarantine until a newer one comes.";

/**
 * A release that was gone back to, before anybody has asked whether it works. It passes through the walk of a run, so
 * that the root's lock is free while it is asked.
 */
export class GoneBack extends Error {
  /** Failure of the release that was left. */
  readonly error: SealiftError;
  /** Units that were started again. */
  readonly units: readonly (string | null)[];
  /** Those of them whose supervisor did not hear of it: they may still run what was left. */
  readonly untold: readonly (string | null)[];
  /** Applications that somebody has installed by hand: no agent can start or ask them. */
  readonly byHand: readonly string[];
  /** Time at which it was gone back to, ISO 8601: every report of the run has it. */
  readonly at = new Date().toISOString();

  constructor(error: SealiftError, { units, untold }: Brought, byHand: readonly string[] = []) {
    super(error.message, { cause: error });
    this.error = error;
    this.units = units;
    this.untold = untold;
    this.byHand = byHand;
  }
}

/** Answer of what was gone back to. */
export type Back =
  | { state: "answers" }
  /** A signal ended the asking. */
  | { state: "not_asked" }
  /** @param units that do not work, each with what is wrong with it */
  | { state: "silent"; units: Record<string, string> };

/**
 * Asks all applications of a release that was gone back to, and its units with a health URL, at once and by their own
 * descriptors. What a supervisor was not told to restart it is told first, as soon as it listens. Takes five minutes at
 * most: then one last look at each decides.
 *
 * @param limitMs most time, in milliseconds
 */
export async function askBack(
  run: Run<Deployed>,
  { units, untold }: GoneBack,
  back: Release | undefined,
  limitMs = ASK_LIMIT_MS,
): Promise<Back> {
  const { layout, options, emit } = run;
  const supervisor = supervisorOf(layout, options.supervisor, back?.items ?? []);
  const asked = units.filter(
    (unit) => isApplicationUnit(unit) || supervisor.asked?.includes(unit) === true || untold.includes(unit),
  );
  const limit = AbortSignal.timeout(limitMs);
  const signal = options.signal === undefined ? limit : AbortSignal.any([options.signal, limit]);
  const faultOfUnit = async (unit: string | null): Promise<string | undefined> => {
    if (untold.includes(unit)) {
      const deaf = await tellAgain(supervisor, unit, signal);
      if (deaf !== undefined) return deaf;
    }
    const fault = await faultOf(run, supervisor, unit, signal);
    // A check that was cut short has found nothing yet.
    return fault !== undefined && limit.aborted ? lastFault(supervisor, unit, options.signal) : fault;
  };
  const faults = await Promise.all(asked.map(async (unit) => [unit ?? "project", await faultOfUnit(unit)] as const));
  const silent = faults.filter((entry): entry is readonly [string, string] => entry[1] !== undefined);
  if (options.signal?.aborted === true) return { state: "not_asked" };
  const found = Object.fromEntries(silent);
  if (asked.length > 0) emit({ event: "rollback.asked", release: back?.name ?? null, units: found });
  return silent.length === 0 ? { state: "answers" } : { state: "silent", units: found };
}

/** Restarts a unit as soon as its supervisor listens. @returns why it was not restarted, if it was not */
async function tellAgain(
  supervisor: RecoveringSupervisor,
  unit: string | null,
  signal: AbortSignal,
): Promise<string | undefined> {
  let fault: string | undefined;
  for (const end = performance.now() + AWAY_MS; ;) {
    try {
      await supervisor.recover(unit, signal);
      return undefined;
    } catch (error) {
      // The signal ended this attempt: the fault of the attempt before it counts.
      if (signal.aborted) return fault ?? `it was not restarted: ${wordsOf(error)}`;
      fault = `it was not restarted: ${wordsOf(error)}`;
      if (asSealiftError(error).code !== "supervisor_unavailable" || performance.now() >= end) return fault;
    }
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Asks a unit until it works, or its patience is over. @returns what is wrong with it, if anything */
async function faultOf(
  { layout }: Run<Deployed>,
  supervisor: Supervisor,
  unit: string | null,
  signal: AbortSignal,
): Promise<string | undefined> {
  const end = performance.now() + PATIENCE * (await checkMs(layout, unit));
  for (;;) {
    const fault = await supervisor.check(unit, LOOK_MS, signal).catch((error: unknown) => wordsOf(error));
    if (fault === undefined || signal.aborted || performance.now() >= end) return fault;
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Looks at a unit once more. @returns what is wrong with it, if anything */
const lastFault = (
  supervisor: Supervisor,
  unit: string | null,
  signal: AbortSignal | undefined,
): Promise<string | undefined> =>
  supervisor.look!(unit, LOOK_MS, signal).then(
    ({ fault }) => fault,
    (error: unknown) => wordsOf(error),
  );

const wordsOf = (error: unknown): string => asSealiftError(error).message.replace(/\.$/, "");

/** Returns the time that a check of a unit takes at most, in milliseconds. */
async function checkMs(layout: Run<Deployed>["layout"], unit: string | null): Promise<number> {
  if (!isApplicationUnit(unit)) return UNIT_MS;
  const installed = await readInstalled(layout, itemOfUnit(unit).id).catch(() => undefined);
  return installed === undefined ? 0 : (installed.app.health.within + installed.app.health.stays_up) * 1000;
}

/** Returns the error of a run that went back, by what was asked afterwards. */
export function errorOfBack({ error, byHand }: GoneBack, back: Back): SealiftError {
  if (back.state === "silent") {
    const faults = Object.entries(back.units).map(([unit, fault]) => `${unit}: ${fault}`);
    const message = `${error.message} The previous release is installed again, and does not work either: ${faults.join("; ")}.`;
    return deploymentError("not_back", message, { cause: error, faults, hint: LOOK_AT_HOST });
  }
  const asked = back.state === "answers" ? "" : " Whether it works was not asked: a signal ended this run.";
  const is =
    byHand.length === 0
      ? "The previous release is back."
      : `The previous release is installed again; start ${byHand.join(", ")} yourself, as before.`;
  return deploymentError("rolled_back", `${error.message} ${is}${asked}`, {
    cause: error,
    // The previous release runs again: its program, run by hand, would only succeed.
    hint: error.code === "supervisor_failed" ? LOGS : (error.hint ?? LOGS),
  });
}

/** Returns the report of a run that went back, by what was asked afterwards. */
export async function reportOfBack(run: Run<Deployed>, gone: GoneBack, back: Back): Promise<LocalReport> {
  const running = await whatRuns(run.layout, run.source.target);
  const report = reportOf(run, { status: "rolled_back", error: errorOfBack(gone, back), running });
  return { ...report, completed_at: gone.at };
}

const LOOK_AT_HOST =
  "Look at this host: it goes on starting the previous release. `watch retry` takes the new one again.";
