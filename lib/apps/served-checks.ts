import { constants } from "node:os";
import { CHECK, HOST_FOLDER } from "../contract/files/application-names.ts";
import { checkFault, checkSeconds, FIRST_ANSWER_MS, isAskedAgain } from "../contract/files/health-command.ts";
import { endingOf } from "../releases/jobs.ts";
import type { Layout } from "../releases/layout.ts";
import type { FoundMembers } from "../support/control-groups/member-groups.ts";
import { settledWithin } from "../support/within.ts";
import { ApplicationProcess, endingText } from "./application-process.ts";
import { markOf } from "./environment.ts";
import { launchValue } from "./launch-value.ts";
import { endLeftovers, markFile, markProcess, readMark } from "./leftovers.ts";
import type { ManagedApplication } from "./managed-application.ts";
import type { Membership } from "./membership.ts";
import { asFault } from "./serve-fault.ts";
import { readSetting } from "./setting.ts";

/** Name of a check beside that of its application: marks and groups of both differ. */
const nameOf = (id: string): string => `${id}+check`;

/** Time for the shell that limits a check to end it, in milliseconds. */
const GRACE_MS = 2_000;

interface Check {
  /** Process of the application that is asked about: an answer counts for no other one. */
  pid: number;
  /** Last answer: why it failed, or null; undefined before the first one. */
  fault?: string | null;
  /** Time of the answer, by the clock of this process. */
  at: number;
  /** Present run; undefined while none is there. */
  run: Promise<void> | undefined;
  process: ApplicationProcess | undefined;
}

/**
 * Health commands of the applications of an `app serve`: each is run as a program of its application, one at a time,
 * and whatever it has started ends with it.
 */
export class ServedChecks {
  readonly #layout: Layout;
  readonly #found: () => FoundMembers;
  readonly #application: (id: string) => ManagedApplication | undefined;
  readonly #checks = new Map<string, Check>();

  /** @param found control groups, or why there are none */
  constructor(layout: Layout, found: () => FoundMembers, application: (id: string) => ManagedApplication | undefined) {
    this.#layout = layout;
    this.#found = found;
    this.#application = application;
  }

  /**
   * Asks whether an application works. Never rejects.
   *
   * @param isFresh waits for an answer of now; otherwise one of the last minute will do
   * @returns why not; null where it works, or has not answered yet
   */
  async ask(id: string, isFresh: boolean): Promise<string | null> {
    const application = this.#application(id);
    const { pid = null, state = "stopped" } = application?.status ?? {};
    if (application === undefined || pid === null) return `it is ${state}`;
    let check = this.#checks.get(id);
    if (check === undefined || check.pid !== pid) {
      await this.endOf(id);
      check = { pid, at: 0, run: undefined, process: undefined };
      this.#checks.set(id, check);
    }
    const { fault } = check;
    const isDue = isFresh || fault === undefined || isAskedAgain(fault, performance.now() - check.at);
    if (isDue) check.run ??= this.#run(application, check);
    if (isFresh) await check.run;
    else if (fault === undefined) await settledWithin(check.run!, FIRST_ANSWER_MS);
    return check.fault ?? null;
  }

  /** Ends all runs. */
  end = (): Promise<unknown> => Promise.all([...this.#checks.keys()].map((id) => this.endOf(id)));

  /** Ends the run for an application, if there is one. */
  async endOf(id: string): Promise<void> {
    const check = this.#checks.get(id);
    await check?.process?.end("SIGKILL", 0);
    await check?.run;
  }

  async #run(application: ManagedApplication, check: Check): Promise<void> {
    const fault = await this.#faultOf(application, check).catch((thrown: unknown) => asFault(thrown).message);
    Object.assign(check, { fault: fault ?? null, at: performance.now(), run: undefined, process: undefined });
  }

  async #faultOf({ id, log }: ManagedApplication, check: Check): Promise<string | undefined> {
    const found = this.#found();
    const ranAlone = (await readMark(markFile(this.#layout, id)))?.uid;
    const setting = await readSetting(this.#layout, id, { found, ranAlone });
    const { app, folder } = setting;
    const group = setting.membership.group && found.members?.of(nameOf(id));
    // A user who tells the members of the application tells none of the check alone.
    const { uid: _uid, ...told } = setting.membership;
    const membership: Membership = { ...told, ...(group !== undefined && { group }) };
    const [mark, file] = [await markOf(this.#layout.root, nameOf(id)), markFile(this.#layout, nameOf(id))];
    await endLeftovers(file, mark, membership);
    const value = await launchValue(this.#layout, id, setting, { group, mark: mark.value });
    const process = await ApplicationProcess.start({
      ...{ ...value, script: `${HOST_FOLDER}/${CHECK}`, folder, sockets: [], log },
    });
    check.process = process;
    void markProcess(file, process.pid, membership);
    const seconds = checkSeconds(app);
    const begun = performance.now();
    await settledWithin(process.ended, seconds * 1000 + GRACE_MS);
    const durationMs = performance.now() - begun;
    const ending = await process.end("SIGKILL", 0);
    await endLeftovers(file, mark, membership);
    await group?.remove();
    const code = ending.code ?? 128 + constants.signals[ending.signal!];
    const why = endingOf({ code, durationMs }, seconds, endingText(ending));
    return why === null ? undefined : checkFault(why);
  }
}
