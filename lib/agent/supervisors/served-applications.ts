import { actOnApplication, askApplications, askHealth } from "../../client/app-serve-client.ts";
import { asSealiftError, deploymentError, SealiftError } from "../../contract/errors.ts";
import { type ApplicationVerb, MIGRATION_LIMIT_MS } from "../../contract/surfaces/app-serve.ts";
import { applicationPaths, SERVE_SOCKET, serveFolder } from "../../releases/applications.ts";
import type { Layout } from "../../releases/layout.ts";
import { openFolder } from "../../releases/open-folder.ts";
import { ifThere } from "../../support/files.ts";
import type { ApplicationRunner } from "./application-units.ts";
import { PROGRAM_TIMEOUT_MS, READY_TIMEOUT_MS, type Sample } from "./supervisor.ts";

/** Time limit of a start, stop or restart: up to `stop.within` of the old process, and a migration. */
const ACT_TIMEOUT_MS = PROGRAM_TIMEOUT_MS + MIGRATION_LIMIT_MS + 600_000;

/** Runs applications by the `sealift app serve` of a project root, over its local socket. */
export function servedApplications(layout: Layout): ApplicationRunner {
  /** Reaches the socket through its open folder: the path of a deep root is longer than a socket's may be. */
  const through = async <T>(ask: (socket: string) => Promise<T>): Promise<T> => {
    const opened = await ifThere(openFolder(serveFolder(layout)));
    if (opened === undefined)
      throw deploymentError("supervisor_unavailable", "No `sealift app serve` has run in this project root.", {
        hint: "Start it: `sealift app serve --project-root ROOT`.",
      });
    await using folder = opened;
    return await ask(folder.path(SERVE_SOCKET));
  };
  const act = (verb: ApplicationVerb) => (id: string, signal?: AbortSignal) =>
    through(async (socket) => {
      await actOnApplication(id, verb, { socket, timeoutMs: ACT_TIMEOUT_MS, signal });
    });
  const list = (timeoutMs: number, signal?: AbortSignal) =>
    through((socket) => askApplications({ socket, timeoutMs, signal }));

  const find = async (id: string, timeoutMs: number, signal?: AbortSignal) =>
    (await list(timeoutMs, signal)).find((application) => application.id === id);

  return {
    async ready(signal) {
      try {
        await list(READY_TIMEOUT_MS, signal);
        return undefined;
      } catch (error) {
        signal?.throwIfAborted();
        return asSealiftError(error).message.replace(/\.$/, "");
      }
    },
    start: act("start"),
    stop: act("stop"),
    restart: act("restart"),
    async recover(id, signal) {
      try {
        await act("recover")(id, signal);
      } catch (error) {
        // An `app serve` of before 0.3.0 knows no such verb.
        if (!(error instanceof SealiftError) || error.hubCode !== "not_found") throw error;
        await act("restart")(id, signal);
      }
    },
    async sample(id, timeoutMs, signal): Promise<Sample> {
      const found = await find(id, timeoutMs, signal);
      if (found === undefined) return { fault: `\`sealift app serve\` does not run ${id}`, restarts: 0 };
      const { state, restarts, error } = found;
      if (state === "running") return { restarts };
      const why = error === null ? "" : `: ${error}; its output is in ${applicationPaths(layout, id).logs}`;
      const fault = `the application ${id} ${state === "waiting" ? "does not run" : `is ${state}`}${why}`;
      return { fault, restarts, isFirstStart: state === "starting" && restarts === 0 };
    },
    askCommand: (id, { seconds, isFresh }, signal) =>
      through((socket) => askHealth(id, isFresh, { socket, timeoutMs: seconds * 1000 + PROGRAM_TIMEOUT_MS, signal })),
    async look(id, signal) {
      const found = await find(id, READY_TIMEOUT_MS, signal);
      if (found === undefined)
        return {
          ...{ state: "stopped", since: null, pid: null, restarts: 0, user: null, sameUser: false, membership: null },
          ...{ used: null, unenforced: [] },
        };
      const { state, since, pid, restarts, user, same_user: sameUser, membership = null } = found;
      const { used = null, unenforced = [] } = found;
      return { state, since, pid, restarts, user: user || null, sameUser, membership, used, unenforced };
    },
  };
}
