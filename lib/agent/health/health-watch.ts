import { setTimeout as sleep } from "node:timers/promises";
import { asSealiftError } from "../../contract/errors.ts";
import type { TargetName } from "../../contract/target.ts";
import { readStanding, type Standing, troubleText, writeStanding } from "../../releases/health.ts";
import { readJournal } from "../../releases/journal.ts";
import type { Layout } from "../../releases/layout.ts";
import { acquireLock } from "../../releases/lock.ts";
import { itemOfUnit } from "../../releases/names.ts";
import { currentRelease, type Release } from "../../releases/release.ts";
import { restingUnits } from "../../releases/stopped.ts";
import { isApplicationUnit } from "../applications/root-supervisor.ts";
import { applicationsToReport } from "../applications/to-report.ts";
import { healthReport, REPORTS_READ } from "../reports/health-report.ts";
import { readReports, removeReport, reportName, writeReport } from "../reports/report.ts";
import type { SupervisorChoice } from "../supervisors/supervisor.ts";
import { askedUnits } from "./asked-units.ts";
import { afterLook, standingOf, tellIn, type UnitHealth } from "./standing.ts";
import { Withdrawals } from "./withdrawn.ts";

/** Times of asking, in milliseconds; tests replace them. */
export interface HealthTimes {
  /** Between two looks at a unit. */
  everyMs: number;
  /** Least time between two reports of one release. */
  quietMs: number;
}

export const HEALTH_TIMES: HealthTimes = { everyMs: 10_000, quietMs: 5 * 60_000 };
/** Share of the time by which looks are spread. */
const JITTER = 0.1;
/** Restarts of a unit that an earlier watch looked at: more than any later look finds. */
const UNKNOWN_RESTARTS = Number.MAX_SAFE_INTEGER;

/** Target whose health is asked. */
export interface Patient {
  target: TargetName;
  /** Opens the project root, before anything is written. Its refusals are told by checks. */
  enter: () => Promise<void>;
  /** Paths to use now. */
  readonly layout: Layout;
  /** Options of its deployments, as they are now. */
  readonly options: { supervisor: SupervisorChoice; hostId: string; logInReports?: boolean };
  kind: "project" | "plugin" | "service";
  slug: string;
}

/** Listener to what a health watch finds. */
export interface HealthHearing {
  /** Called when the health of what runs has changed. */
  changed: (found: Pick<Standing, "state" | "since"> & { message: string | null }) => void;
  /** Called when a report for the hub was written. */
  reported: () => void;
  warn: (message: string) => void;
  /** Returns a random number from 0 to 1. */
  random: () => number;
}

/**
 * Asks again and again whether what a target runs is healthy, by the rule of its deployment. Reports changes only, and
 * few of them. Never goes back: that is a person's decision.
 */
export class HealthWatch {
  readonly #patient: Patient;
  readonly #times: HealthTimes;
  readonly #hearing: HealthHearing;
  #release: string | undefined;
  #units = new Map<string, UnitHealth>();
  readonly #withdrawals = new Withdrawals();
  /** Units that the last report says are stopped; undefined before it was read. */
  #stopped: readonly string[] | undefined;
  /** Release of which it is known whether its applications were reported. */
  #asked: string | undefined;
  #wasSick = false;
  #warned: string | undefined;

  constructor(patient: Patient, hearing: HealthHearing, times: HealthTimes) {
    this.#patient = patient;
    this.#hearing = hearing;
    this.#times = times;
  }

  /** Begins to ask, until the signal is aborted. Disposal waits for the end. */
  begin(signal: AbortSignal): AsyncDisposable {
    const ended = this.#run(signal);
    return { [Symbol.asyncDispose]: () => ended };
  }

  /** Never rejects. */
  async #run(signal: AbortSignal): Promise<void> {
    for (;;) {
      const pause = this.#times.everyMs * (1 - JITTER + 2 * JITTER * this.#hearing.random());
      await sleep(pause, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await this.#round(signal);
        this.#warned = undefined;
      } catch (thrown) {
        if (signal.aborted) return;
        const { message } = asSealiftError(thrown);
        if (message !== this.#warned) this.#hearing.warn(`The health could not be asked: ${message}`);
        this.#warned = message;
      }
    }
  }

  async #round(signal: AbortSignal): Promise<void> {
    const isOpen = await this.#patient.enter().then(
      () => true,
      () => false,
    );
    if (!isOpen) return;
    const { layout, target, options } = this.#patient;
    const release = await currentRelease(layout, target);
    if (release?.name !== this.#release) this.#begin(release, await readStanding(layout, target));
    if (release === undefined || (await this.#isDeployed())) return;
    const { stopped, faults } = await this.#withdrawals.stop(layout, release, options.supervisor, signal);
    for (const fault of faults) this.#hearing.warn(fault);
    for (const id of stopped)
      this.#hearing.warn(`The application ${id} was stopped: applications.yaml grants it no longer.`);
    const asked = askedUnits(layout, release, options.supervisor);
    const looks = await Promise.all(asked.map(async ({ name, look }) => [name, await look(signal)] as const));
    // A look during a switch may have met either release.
    if ((await this.#isDeployed()) || (await currentRelease(layout, target))?.name !== release.name) return;
    const units = await restingUnits(layout, release.items);
    const now = new Date().toISOString();
    this.#units = new Map(looks.map(([name, sample]) => [name, afterLook(this.#units.get(name), sample, now)]));
    await this.#conclude(release, units, now);
  }

  /** Begins with another release: of that one only what an earlier watch found still holds. */
  #begin(release: Release | undefined, found: Standing | undefined): void {
    const { since = "", units = {} } = found ?? {};
    this.#release = release?.name;
    this.#stopped = undefined;
    this.#units = new Map(
      Object.entries(units).map(([name, fault]) => [name, { misses: 0, since, restarts: UNKNOWN_RESTARTS, fault }]),
    );
    const isSick = this.#units.size > 0;
    if (this.#wasSick && !isSick)
      this.#hearing.changed({ state: "healthy", since: new Date().toISOString(), message: null });
    this.#wasSick = isSick;
  }

  async #conclude(release: Release, stopped: readonly string[], now: string): Promise<void> {
    const { layout, target } = this.#patient;
    const before = await readStanding(layout, target);
    const found = standingOf(release.name, this.#units, before, now);
    const { state, since, units } = found;
    if (state !== (before?.state ?? "healthy")) {
      await writeStanding(layout, target, found);
      this.#wasSick = state === "unhealthy";
      this.#hearing.changed({ state, since, message: this.#wasSick ? troubleText(found) : null });
    } else if (before !== undefined && !sameKeys(before.units, units)) await writeStanding(layout, target, found);
    const isNews = !sameNames(stopped, await this.#toldStopped()) || (await this.#isUntold(release));
    if (isNews || tellIn(found, Date.parse(now), this.#times.quietMs) === 0)
      await this.#tell(release, found, stopped, now);
  }

  /** Writes the report, unless somebody deploys the target: then the next round looks again. */
  async #tell(release: Release, found: Standing, stopped: readonly string[], now: string): Promise<void> {
    const { layout, target, kind, slug, options } = this.#patient;
    const lock = await acquireLock(layout.targetLock(target), { waitMs: 0 }).catch((thrown: unknown) => {
      if (asSealiftError(thrown).code === "root_busy") return undefined;
      throw thrown;
    });
    if (lock === undefined) return;
    await using _turn = lock;
    if ((await currentRelease(layout, target))?.name !== release.name) return;
    const earlier = await readReports(layout, target, REPORTS_READ);
    const report = healthReport(release, found, earlier, now, stopped, { kind, slug, host_id: options.hostId });
    const told = await applicationsToReport(layout, release.items, options.supervisor, found.units);
    const log = await this.#logOf(found);
    await writeReport(layout, target, { ...report, ...told, ...(log.length > 0 && { log }) });
    await writeStanding(layout, target, {
      ...found,
      told: { state: found.state, at: now, report: reportName(report) },
    });
    this.#stopped = stopped;
    // The earlier report is out of date, whether or not the hub has it.
    if (found.told !== undefined) await removeReport(layout, target, found.told.report);
    this.#hearing.reported();
  }

  /** Returns the units that the last report calls stopped. A deployment may have written that report. */
  async #toldStopped(): Promise<readonly string[]> {
    const { layout, target } = this.#patient;
    return (this.#stopped ??= (await readReports(layout, target, 1))[0]?.health?.stopped ?? []);
  }

  /** Tells, once for a release, whether no report has named its applications: an agent before 0.3.0 names none. */
  async #isUntold(release: Release): Promise<boolean> {
    if (this.#asked === release.name) return false;
    this.#asked = release.name;
    const { layout, target, options } = this.#patient;
    const earlier = await readReports(layout, target, REPORTS_READ);
    if (earlier.some((report) => report.applications !== undefined && report.running_version === release.version))
      return false;
    return (await applicationsToReport(layout, release.items, options.supervisor)).applications !== undefined;
  }

  /** Returns the last lines of the first unhealthy application; none if its operator wants no logs in reports. */
  async #logOf({ units }: Standing): Promise<string[]> {
    const { layout, options } = this.#patient;
    const unit = Object.keys(units).find(isApplicationUnit);
    if (unit === undefined || options.logInReports === false) return [];
    const { logTail } = await import("../supervisors/log-tail.ts");
    return logTail(layout, itemOfUnit(unit), { systemdScope: options.supervisor.systemdScope });
  }

  /** Tells whether a run is switching this target, or was cut short in it. */
  async #isDeployed(): Promise<boolean> {
    const { layout, target } = this.#patient;
    return (await readJournal(layout))?.target === target;
  }
}

const sameNames = (a: readonly string[], b: readonly string[]): boolean => a.toSorted().join() === b.toSorted().join();
const sameKeys = (a: object, b: object): boolean => sameNames(Object.keys(a), Object.keys(b));
