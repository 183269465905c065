import * as z from "zod";
import { pluginId } from "../identifiers.ts";
import { dueTimes } from "./due-times.ts";
import { secondsUpTo } from "./seconds.ts";

/**
 * Kinds of applications beside a program that runs by itself all the time: one that is of another one, and a job, which
 * runs at times (docs/contract/application.md#kinds).
 */

/** Longest time limit of a run of a job, in seconds. */
const MAX_RUN_SECONDS = 86_400;

/** Keys of `app.yaml` that make another kind. */
export const kindKeys = {
  /** Application whose folder, user, settings and data it shares. */
  of: pluginId.optional(),
  /** Times at which it runs, as in cron; then it is a job. */
  schedule: z.string().max(256).optional(),
  /** Zone of these times, such as Europe/Vienna. Default: UTC. */
  timezone: z.string().min(1).max(64).optional(),
  /** Runs once for all that was missed, however late. */
  catch_up: z.boolean().optional(),
  /** Time limit of a run of a job, in seconds. Default: one hour. */
  within: secondsUpTo(MAX_RUN_SECONDS).optional(),
};

/** Time limit of a run whose job states none, in seconds. */
export const RUN_SECONDS = 3600;

/** Descriptor, as far as its kind goes. */
export interface Kinds {
  of?: string | undefined;
  schedule?: string | undefined;
  timezone?: string | undefined;
  catch_up?: boolean | undefined;
  within?: number | undefined;
}

/** Keys of a descriptor that other kinds may not have. */
interface Others extends Kinds {
  listen: readonly string[];
  ports: readonly string[];
  health: { http?: string | undefined; command?: readonly string[] | undefined; port?: string | undefined };
  migrate?: unknown;
  data?: unknown;
  environment: { required: readonly string[]; optional: readonly string[] };
}

/** Tells whether an application runs at times only. */
export const isJob = ({ schedule }: Kinds): boolean => schedule !== undefined;

/** Returns what is wrong with the kind of a descriptor: the key, and why. */
export function kindFaults(app: Others): [key: string, message: string][] {
  const faults: [string, string][] = [];
  const { listen, ports, health, environment } = app;
  if (app.of !== undefined) {
    const base = app.of;
    const shared = (key: string, has: boolean): void =>
      void (has && faults.push([key, `is that of ${base}: an application that is of another one has none of its own`]));
    shared("data", app.data !== undefined);
    shared("migrate", app.migrate !== undefined);
    shared("environment", environment.required.length + environment.optional.length > 0);
  }
  if (app.schedule === undefined) {
    for (const key of ["timezone", "catch_up", "within"] as const)
      if (app[key] !== undefined) faults.push([key, "belongs to a job: there is no schedule"]);
    return faults;
  }
  const due = dueTimes(app.schedule, app.timezone);
  if (typeof due === "string") faults.push([due.startsWith("is no time zone") ? "timezone" : "schedule", due]);
  for (const [key, has] of Object.entries({
    listen: listen.length > 0,
    ports: ports.length > 0,
    health: health.http !== undefined || health.command !== undefined || health.port !== undefined,
    migrate: app.migrate !== undefined,
  }))
    if (has) faults.push([key, "is for a program that runs all the time, and a schedule makes it a job"]);
  return faults;
}
