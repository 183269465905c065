import { deploymentError } from "../../contract/errors.ts";
import type { Application } from "../../contract/files/application.ts";
import type { LimitName, Usage } from "../../contract/files/limit-forms.ts";
import { type MembershipKind, MIGRATION_LIMIT_MS } from "../../contract/surfaces/app-serve.ts";
import { instancesOf, isOneRoot, rootOfUnit } from "../../support/systemd/app-instance.ts";
import { answers, capital, PROGRAM_TIMEOUT_MS, type Prospect, READY_TIMEOUT_MS, type Sample } from "./supervisor.ts";
import { actOnUnits, askUnits, sampleUnit, systemctl, type SystemdScope } from "./systemd-units.ts";
import { unitUsage, USAGE_PROPERTIES } from "./unit-usage.ts";

/** Runs applications, whichever program does so. */
export interface ApplicationRunner {
  /** @returns undefined if it works, otherwise what is wrong */
  ready(signal?: AbortSignal): Promise<string | undefined>;
  start(id: string, signal?: AbortSignal): Promise<void>;
  stop(id: string, signal?: AbortSignal): Promise<void>;
  restart(id: string, signal?: AbortSignal): Promise<void>;
  /** Restarts it, and goes on trying when its start fails. Default: `restart`. */
  recover?(id: string, signal?: AbortSignal): Promise<void>;
  prospect?: (id: string, signal?: AbortSignal, app?: Application) => Promise<Prospect>;
  sample(id: string, timeoutMs: number, signal?: AbortSignal): Promise<Sample>;
  /**
   * Asks by an application's health command whether it works.
   *
   * @param seconds time limit of the command
   * @param isFresh waits for an answer of now; otherwise one of the last minute will do
   * @returns why not; undefined where it works
   */
  askCommand(
    id: string,
    asked: { seconds: number; isFresh: boolean },
    signal?: AbortSignal,
  ): Promise<string | undefined>;
  /** Describes the process of an application. @throws DeploymentError where nobody can be asked */
  look(id: string, signal?: AbortSignal): Promise<ProcessState>;
}

/** State of the process of an application. */
export interface ProcessState {
  state: string;
  /** Time of its last change; null where that is not known. */
  since: string | null;
  pid: number | null;
  /** Starts after an end that nobody asked for. */
  restarts: number;
  /** User who runs it; null where that is not known. */
  user: string | null;
  /** Whether it can read what the program that runs it can: the agent's keys, and settings of others. */
  sameUser: boolean;
  /** Way in which its processes are told from others; null where that is not known. */
  membership: MembershipKind | null;
  /** Use of the machine now; null where that is not known. */
  used: Usage | null;
  /** Limits that nothing enforces here. */
  unenforced: readonly LimitName[];
}

const serviceOf = (instance: string): string => `sealift-app@${instance}.service`;

/**
 * Finds the units of an application of a project root: those of its id, or of its id and root.
 *
 * @returns their instance; or whose the units of that id are, where another root has them
 * @throws DeploymentError `supervisor_unavailable` where systemd cannot be asked
 */
export async function instanceOf(
  scope: SystemdScope,
  root: string,
  id: string,
  signal?: AbortSignal,
): Promise<{ instance: string; belongsTo?: undefined } | { instance?: undefined; belongsTo: string }> {
  const [first, further] = instancesOf(id, root);
  const asked = [first, further].map(serviceOf);
  const found = await askUnits(scope, asked, READY_TIMEOUT_MS, signal, ["WorkingDirectory"]);
  const [own, other] = found.map(({ WorkingDirectory }) => rootOfUnit(id, WorkingDirectory));
  if (own === undefined || isOneRoot(own, root)) return { instance: first };
  return other !== undefined && isOneRoot(other, root) ? { instance: further } : { belongsTo: own };
}

const foreign = (id: string, root: string): string => `the unit ${serviceOf(id)} runs ${id} of ${root}`;

/** Time limit of a job: the old process ends, which takes up to its `stop.within`, and a migration runs. */
const JOB_TIMEOUT_MS = PROGRAM_TIMEOUT_MS + MIGRATION_LIMIT_MS + 600_000;

/**
 * Runs applications by the units of `sealift systemd install app`: a service, and a socket where the operator gave it
 * one. An upgrade restarts the service alone: its socket goes on taking connections.
 */
export function applicationUnits(scope: SystemdScope, root: string): ApplicationRunner {
  /** Units by the applications whose they are. */
  const known = new Map<string, { service: string; socket: string }>();
  const unitsOf = async (id: string, signal?: AbortSignal): Promise<{ service: string; socket: string }> => {
    const before = known.get(id);
    if (before !== undefined) return before;
    const found = await instanceOf(scope, root, id, signal);
    if (found.belongsTo !== undefined)
      throw deploymentError("supervisor_unavailable", `${capital(foreign(id, found.belongsTo))}.`, {
        hint: `Give this root units of its own: sealift systemd install app ${id} --project-root ${root}.`,
      });
    const units = { service: serviceOf(found.instance), socket: `sealift-app@${found.instance}.socket` };
    known.set(id, units);
    return units;
  };
  const run = (signal: AbortSignal | undefined, verb: string, ...units: string[]) =>
    actOnUnits(scope, verb, units, signal, JOB_TIMEOUT_MS);

  /** Reads the states of both units. The socket's is undefined where there is none. */
  const look = async (id: string, signal?: AbortSignal) => {
    const { service, socket } = await unitsOf(id, signal);
    const [of, at] = await askUnits(scope, [service, socket], READY_TIMEOUT_MS, signal);
    return {
      service: of?.ActiveState,
      socket: at?.LoadState === "loaded" ? at.ActiveState : undefined,
      loaded: of?.LoadState,
    };
  };

  /** Makes a unit that systemd has given up startable again, and opens the socket. */
  const prepare = async (id: string, signal?: AbortSignal): Promise<void> => {
    const units = await unitsOf(id, signal);
    const state = await look(id, signal);
    const failed = [state.service === "failed" ? units.service : "", state.socket === "failed" ? units.socket : ""];
    const given = failed.filter((unit) => unit !== "");
    if (given.length > 0) await run(signal, "reset-failed", ...given);
    if (state.socket === undefined || state.socket === "active") return;
    // systemd opens no socket whose service runs without it.
    await run(signal, "stop", units.service);
    await run(signal, "start", units.socket);
  };

  /** Stops the run of a job, and that of a health command, which are units of their own. */
  const stopRuns = async (id: string, signal?: AbortSignal): Promise<void> => {
    const { service } = await unitsOf(id, signal);
    const units = ["job", "check"].map((kind) => service.replace("sealift-app@", `sealift-${kind}@`));
    const found = await askUnits(scope, units, READY_TIMEOUT_MS, signal);
    const running = units.filter((_unit, index) => ["activating", "active"].includes(found[index]?.ActiveState ?? ""));
    if (running.length > 0) await run(signal, "stop", ...running);
  };

  return {
    ready: (signal) => answers(systemctl(scope, "list-jobs"), signal),
    async prospect(id, signal, app) {
      const { belongsTo } = await instanceOf(scope, root, id, signal);
      if (belongsTo !== undefined) return { lacks: foreign(id, belongsTo), isOpen: false };
      const { socket, loaded = "missing" } = await look(id, signal);
      const isOpen = socket === "active";
      if (app?.health.command !== undefined && loaded === "loaded") {
        const { checkUnit } = await import("./unit-checks.ts");
        const unit = checkUnit((await instanceOf(scope, root, id, signal)).instance!);
        const [check] = await askUnits(scope, [unit], READY_TIMEOUT_MS, signal);
        if (check?.LoadState !== "loaded") return { lacks: `the unit ${unit} is ${check?.LoadState}`, isOpen };
      }
      return loaded === "loaded" ? { isOpen } : { lacks: `the unit ${serviceOf(id)} is ${loaded}`, isOpen };
    },
    async start(id, signal) {
      await prepare(id, signal);
      await run(signal, "start", (await unitsOf(id, signal)).service);
    },
    async stop(id, signal) {
      const { service, socket } = await unitsOf(id, signal);
      const { socket: state } = await look(id, signal);
      // In one job: a connection in between would start the service again.
      await run(signal, "stop", ...(state === undefined ? [] : [socket]), service);
      await stopRuns(id, signal);
    },
    async restart(id, signal) {
      await prepare(id, signal);
      await run(signal, "restart", (await unitsOf(id, signal)).service);
    },
    sample: async (id, timeoutMs, signal) => sampleUnit(scope, (await unitsOf(id, signal)).service, timeoutMs, signal),
    askCommand: async (id, asked, signal) => {
      const found = await instanceOf(scope, root, id, signal);
      return found.instance === undefined
        ? foreign(id, found.belongsTo)
        : (await import("./unit-checks.ts")).askByUnit(scope, found.instance, asked, signal);
    },
    async look(id, signal) {
      const more = ["MainPID", "User", "StateChangeTimestamp", ...USAGE_PROPERTIES];
      const [found] = await askUnits(scope, [(await unitsOf(id, signal)).service], READY_TIMEOUT_MS, signal, more);
      const { LoadState, ActiveState = "unknown", NRestarts = 0, MainPID = 0, User, StateChangeTimestamp } = found!;
      const since = new Date(StateChangeTimestamp ?? "");
      return {
        state: LoadState === undefined || LoadState === "loaded" ? ActiveState : LoadState,
        since: Number.isNaN(since.getTime()) ? null : since.toISOString(),
        pid: Number(MainPID) || null,
        restarts: Number(NRestarts),
        user: User || null,
        sameUser: false,
        // systemd puts each service into a control group of its own.
        membership: "group",
        ...unitUsage(found!),
      };
    },
  };
}
