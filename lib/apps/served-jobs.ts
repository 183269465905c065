import { constants } from "node:os";
import { RUN_SECONDS } from "../contract/files/application-kinds.ts";
import { HOST_FOLDER, RUN } from "../contract/files/application-names.ts";
import { applicationPaths } from "../releases/applications.ts";
import type { Job, JobLauncher, Outcome } from "../releases/job-scheduler.ts";
import { endingOf, type JobRun } from "../releases/jobs.ts";
import type { Layout } from "../releases/layout.ts";
import type { FoundMembers } from "../support/control-groups/member-groups.ts";
import { ApplicationProcess, type Ending, endingText } from "./application-process.ts";
import { type ApplicationMark, markOf } from "./environment.ts";
import { giveOwnData } from "./launch.ts";
import { launchValue } from "./launch-value.ts";
import { endLeftovers, markFile, markProcess } from "./leftovers.ts";
import { unlimitedText } from "./limits.ts";
import { LogFile } from "./log-file.ts";
import type { Membership } from "./membership.ts";
import { readSetting } from "./setting.ts";

/** Name of a job beside that of a program that runs all the time: marks and groups of both differ. */
const nameOf = (id: string): string => `${id}+job`;

interface Running {
  process: ApplicationProcess;
  begun: number;
  ended: number;
  ending: Ending | undefined;
  job: Job;
  /** Resolves once its end is known, and nobody of it is left. */
  done: Promise<void>;
}

/** Runs of the jobs of an `app serve`: each is a process of it, which ends with it. */
export class ServedJobs implements JobLauncher {
  readonly #layout: Layout;
  readonly #found: () => FoundMembers;
  readonly #running = new Map<string, Running>();

  /** @param found control groups, or why there are none */
  constructor(layout: Layout, found: () => FoundMembers) {
    this.#layout = layout;
    this.#found = found;
  }

  /** A run of this process is known by itself. */
  last = (): Promise<string> => Promise.resolve("");

  afterBoot = (run: JobRun): Outcome => (run.started ? { fault: "the machine restarted meanwhile" } : "never");

  async start(job: Job, started: (release: string) => Promise<void>): Promise<void> {
    const { id } = job;
    const found = this.#found();
    const setting = await readSetting(this.#layout, id, { found, ranAlone: undefined });
    const group = setting.membership.group && found.members?.of(nameOf(id));
    const membership: Membership = { ...setting.membership, ...(group !== undefined && { group }) };
    await this.#clear(id, membership);
    await giveOwnData(this.#layout, id, setting);
    const { unenforced, ...value } = await launchValue(this.#layout, id, setting, {
      ...{ group, mark: (await this.#mark(id)).value },
    });
    const log = new LogFile(applicationPaths(this.#layout, id).logs);
    const process = await ApplicationProcess.start({
      ...{ ...value, script: `${HOST_FOLDER}/${RUN}`, folder: setting.folder, sockets: [], log },
      begun: () => started(setting.release),
    });
    void markProcess(this.#markFile(id), process.pid, membership);
    log.remark(`the job begins from the release ${setting.release} as process ${process.pid}`);
    if (unenforced.length > 0) log.remark(unlimitedText(unenforced));
    const running: Running = {
      process,
      begun: performance.now(),
      ended: 0,
      ending: undefined,
      job,
      done: Promise.resolve(),
    };
    this.#running.set(id, running);
    running.done = process.ended.then(async (ending) => {
      running.ended = performance.now();
      await this.#clear(id, membership).catch(() => undefined);
      running.ending = ending;
      log.remark(`the job as process ${process.pid}: ${endingText(ending)}`);
      log.end();
    });
  }

  look(id: string, run: JobRun): Promise<Outcome> {
    const running = this.#running.get(id);
    if (running === undefined)
      return Promise.resolve(run.started ? { fault: "`app serve` was killed meanwhile" } : "never");
    if (running.ending === undefined) return Promise.resolve("runs");
    this.#running.delete(id);
    return Promise.resolve({ fault: faultOf(running) });
  }

  /** Ends what a killed `app serve` has left of a job. */
  clearAll = (ids: readonly string[]): Promise<unknown> => Promise.all(ids.map((id) => this.#clear(id, undefined)));

  /** Ends all runs, each within its `stop.within`. */
  end = (): Promise<unknown> => Promise.all([...this.#running.keys()].map((id) => this.endOf(id)));

  /** Ends the run of a job, if it has one, within its `stop.within`. */
  async endOf(id: string): Promise<void> {
    const running = this.#running.get(id);
    if (running === undefined) return;
    const { process, job, done } = running;
    await process.end(job.app.stop.signal, job.app.stop.within * 1000);
    await done;
  }

  #clear = async (id: string, membership: Membership | undefined): Promise<void> =>
    endLeftovers(this.#markFile(id), await this.#mark(id), membership);

  #mark = (id: string): Promise<ApplicationMark> => markOf(this.#layout.root, nameOf(id));
  #markFile = (id: string): string => markFile(this.#layout, nameOf(id));
}

/** Returns why a run failed; null for one that went well. */
function faultOf({ ending, begun, ended, job }: Running): string | null {
  const code = ending!.code ?? 128 + constants.signals[ending!.signal!];
  const { within = RUN_SECONDS } = job.app;
  return endingOf({ code, durationMs: ended - begun }, within, endingText(ending!));
}
