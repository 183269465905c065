import { SealiftError } from "../../contract/errors.ts";
import { isJob } from "../../contract/files/application-kinds.ts";
import type { ApplicationsFile } from "../../contract/files/applications.ts";
import { checkSeconds } from "../../contract/files/health-command.ts";
import { type InstalledApplication, readInstalled } from "../../releases/applications.ts";
import { healthUrl } from "../../releases/health-url.ts";
import { jobFault, readJob } from "../../releases/jobs.ts";
import type { Layout } from "../../releases/layout.ts";
import { probe } from "../../support/network/probe.ts";
import { type ApplicationRunner, applicationUnits } from "./application-units.ts";
import { servedApplications } from "./served-applications.ts";
import { look, type Looking, settles } from "./settling.ts";
import { passingStopped } from "./stopped-applications.ts";
import type { Supervisor } from "./supervisor.ts";
import type { SystemdScope } from "./systemd-units.ts";

export interface ApplicationSupervisorOptions {
  layout: Layout;
  /** Operator's `applications.yaml` of the root. */
  grants: ApplicationsFile;
  /** Default: `system`. */
  systemdScope?: SystemdScope | undefined;
}

/** Returns the program that runs the applications of a project root. */
export const applicationRunner = ({
  layout,
  grants,
  systemdScope = "system",
}: ApplicationSupervisorOptions): ApplicationRunner =>
  grants.supervisor === "systemd" ? applicationUnits(systemdScope, layout.root) : servedApplications(layout);

/**
 * Supervises the applications of a project root by their ids, through systemd's units or `sealift app serve`. A
 * `restart` is an upgrade: it lets the old process end, migrates and starts the new one, while its sockets stay open.
 *
 * A check is whole: it waits `health.within` for an answer of `health.http` or `health.command` and then
 * `health.stays_up`, of the descriptor that is installed when it begins. A command is asked at both ends of that. Its
 * `timeoutMs` limits each look at the process.
 */
export function applicationSupervisor(options: ApplicationSupervisorOptions): Supervisor {
  const { layout, grants } = options;
  const runner = applicationRunner(options);
  const act = (verb: "start" | "stop" | "restart") => (id: string | null, signal?: AbortSignal) =>
    runner[verb](named(id), signal);
  const recover = runner.recover?.bind(runner) ?? runner.restart.bind(runner);

  const looking = (
    { app }: InstalledApplication,
    id: string,
    { timeoutMs, isFresh }: { timeoutMs: number; isFresh: boolean },
    signal?: AbortSignal,
  ): Looking => {
    const sample = () => runner.sample(id, timeoutMs, signal);
    if (app.health.command !== undefined) {
      const asked = { seconds: checkSeconds(app), isFresh };
      return { sample, isCostly: true, ask: () => runner.askCommand(id, asked, signal) };
    }
    const url = healthUrl(grants, id, app);
    return { sample, ask: url && ((ms) => probe(url, signal, ms)) };
  };

  return passingStopped(layout, {
    ready: (signal) => runner.ready(signal),
    start: act("start"),
    stop: act("stop"),
    restart: act("restart"),
    recover: (id, signal) => recover(named(id), signal),
    ...(runner.prospect !== undefined && { prospect: runner.prospect }),
    async check(unit, timeoutMs, signal) {
      const id = named(unit);
      const installed = await readInstalled(layout, id);
      if (installed === undefined) return notInstalled(id);
      // Its next time is not waited for.
      if (isJob(installed.app)) return undefined;
      const { within, stays_up: staysUp } = installed.app.health;
      const times = { withinMs: within * 1000, staysUpMs: staysUp * 1000 };
      return settles({ ...looking(installed, id, { timeoutMs, isFresh: true }, signal), ...times, signal });
    },
    async look(unit, timeoutMs, signal) {
      const id = named(unit);
      const installed = await readInstalled(layout, id);
      if (installed !== undefined && isJob(installed.app)) {
        const fault = jobFault(await readJob(layout, id), installed.release);
        return { ...(fault !== undefined && { fault }), restarts: 0 };
      }
      return installed === undefined
        ? { fault: notInstalled(id), restarts: 0 }
        : look(looking(installed, id, { timeoutMs, isFresh: false }, signal), installed.app.health.within * 1000);
    },
  });
}

const notInstalled = (id: string): string => `the application ${id} is not installed`;

function named(id: string | null): string {
  if (id !== null) return id;
  throw new SealiftError("DeploymentError", "internal", "An application was asked for without its id.");
}
