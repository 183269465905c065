import { RUN_SECONDS } from "../../contract/files/application-kinds.ts";
import { readInstalled } from "../../releases/applications.ts";
import type { Job, JobLauncher, Outcome } from "../../releases/job-scheduler.ts";
import type { JobRun } from "../../releases/jobs.ts";
import type { Layout } from "../../releases/layout.ts";
import { instanceOf } from "../supervisors/application-units.ts";
import { READY_TIMEOUT_MS, supervise } from "../supervisors/supervisor.ts";
import { askUnits, systemctl, type SystemdScope } from "../supervisors/systemd-units.ts";
import { ENDING_PROPERTIES, NOT_TO_START, unitFault } from "../supervisors/unit-ending.ts";

/** Longest time for which a start may wait in systemd's queue, in milliseconds. */
const QUEUED_MS = 60_000;

/** Runs of jobs as units of systemd, which go on when whoever began them is killed. */
export class UnitJobs implements JobLauncher {
  readonly #layout: Layout;
  readonly #scope: SystemdScope;

  constructor(layout: Layout, scope: SystemdScope) {
    this.#layout = layout;
    this.#scope = scope;
  }

  last = async ({ id }: Job): Promise<string> => (await this.#show(id)).InvocationID ?? "";

  async start({ id }: Job, started: () => Promise<void>): Promise<void> {
    const unit = await this.#unit(id);
    const { ActiveState } = await this.#show(id);
    if (ActiveState === "failed") await supervise(systemctl(this.#scope, "reset-failed", unit));
    await supervise(systemctl(this.#scope, "start", "--no-block", unit));
    await started();
  }

  async look(id: string, run: JobRun): Promise<Outcome> {
    const found = await this.#show(id);
    const { ActiveState = "unknown", InvocationID = "", ConditionResult } = found;
    if (ActiveState === "activating" || ActiveState === "deactivating" || ActiveState === "active") return "runs";
    // A unit whose conditions do not hold begins nothing, and keeps its name.
    if (InvocationID === run.before) {
      if (!run.started) return "never";
      if (ConditionResult === "no") return { fault: NOT_TO_START };
      return Date.now() - Date.parse(run.begun) < QUEUED_MS ? "runs" : { fault: "systemd has not started it" };
    }
    const within = (await readInstalled(this.#layout, id).catch(() => undefined))?.app.within ?? RUN_SECONDS;
    return { fault: unitFault(found, within) };
  }

  /** Ends a run of an earlier boot as failed. It may have begun, and a run never begins twice. */
  afterBoot = (): Outcome => ({ fault: "the machine restarted meanwhile" });

  async #show(id: string) {
    const unit = await this.#unit(id);
    const found = await askUnits(this.#scope, [unit], READY_TIMEOUT_MS, undefined, ENDING_PROPERTIES);
    const [properties = {}] = found;
    if (properties.LoadState !== "loaded") throw new Error(`the unit ${unit} is ${properties.LoadState ?? "missing"}`);
    return properties;
  }

  async #unit(id: string): Promise<string> {
    const found = await instanceOf(this.#scope, this.#layout.root, id);
    if (found.instance === undefined) throw new Error(`this root has no units of ${id}`);
    return `sealift-job@${found.instance}.service`;
  }
}
