import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { deploymentError, usageError } from "../../contract/errors.ts";
import { isJob } from "../../contract/files/application-kinds.ts";
import { APPLICATIONS_FILE, APPLICATIONS_FOLDER } from "../../contract/files/application-names.ts";
import { type TargetName, targetOfName, targetText } from "../../contract/target.ts";
import { applicationLog, readGrants, readInstalled } from "../../releases/applications.ts";
import { isApplication, type Layout } from "../../releases/layout.ts";
import { itemOfUnit, unitKey } from "../../releases/names.ts";
import { currentRelease, namedUnits } from "../../releases/release.ts";
import { LineCutter } from "../../support/lines.ts";
import { readRotatedLog, type RotatedLog } from "../../support/rotated-log.ts";
import { childEnvironment } from "../base/child-program.ts";
import { type SupervisorName, unitName } from "./supervisor.ts";

/** Line that a unit has written. */
export interface LogLine {
  /** Unit, where several programs print at once. */
  unit: string | null;
  line: string;
}

/**
 * Returns where the logs of a target's running release are.
 *
 * @param units plugins and `apps/<id>` to read; none means the units that the release was deployed with, or all
 *   plugins, and all applications
 * @throws UsageError `usage` when nothing runs, a unit is not installed, or its supervisor keeps no logs
 */
export async function targetLogs(
  layout: Layout,
  target: TargetName,
  units: readonly string[],
  request: Omit<LogRequest, "units">,
): Promise<LogSource[]> {
  const name = targetText(targetOfName(target));
  const release = await currentRelease(layout, target);
  if (release === undefined)
    throw usageError("usage", `Nothing of ${name} runs here.`, {
      hint: "`sealift status` shows what does; --project-root names another root.",
    });
  const installed = release.items.filter(({ section }) => section === "plugins").map(({ id }) => id);
  const apps = release.items.filter(isApplication).map(unitKey);
  const strange = units.filter((unit) => !installed.includes(unit) && !apps.includes(unit));
  if (strange.length > 0) {
    throw usageError("usage", `${name} has no plugin or application ${strange.join(", ")}.`, {
      hint: `It has ${[...installed, ...apps].join(", ")}.`,
    });
  }
  const isPlugins = (unit: string | null): boolean => unit === null || !apps.includes(unit);
  const planned = [...namedUnits(release)].filter(isPlugins);
  const plugins = units.length > 0 ? units.filter(isPlugins) : planned.length > 0 ? planned : installed;
  const ofApps = units.length > 0 ? units.filter((unit) => apps.includes(unit)) : apps;
  return [
    ...(plugins.length > 0 || ofApps.length === 0 ? logCommands({ ...request, units: plugins }) : []),
    ...(await applicationLogs(
      layout,
      ofApps.map((unit) => itemOfUnit(unit).id),
      request,
    )),
  ];
}

/**
 * Returns where the logs of applications of a project root are: in systemd's journal, or in files of `app serve`.
 *
 * @throws UsageError `usage` where no application may run
 */
export async function applicationLogs(
  layout: Layout,
  ids: readonly string[],
  { lines, follow, systemdScope }: Pick<LogRequest, "lines" | "follow" | "systemdScope">,
): Promise<LogSource[]> {
  if (ids.length === 0) return [];
  const grants = await readGrants(layout);
  if (grants === undefined)
    throw usageError("usage", `There is no ${APPLICATIONS_FILE} in ${layout.root}: no application runs there.`, {
      hint: "`sealift app allow` writes it, or `sealift systemd install app`. --project-root names another root.",
    });
  if (grants.supervisor === "serve")
    return ids.map((id) => ({
      unit: unitKey({ section: APPLICATIONS_FOLDER, id }),
      log: applicationLog(layout, id),
      lines,
      follow,
    }));
  const { instanceOf } = await import("./application-units.ts");
  const units = await Promise.all(
    ids.map(async (id) => {
      const { instance, belongsTo } = await instanceOf(systemdScope, layout.root, id);
      const installed = await readInstalled(layout, id).catch(() => undefined);
      const isOne = installed !== undefined && isJob(installed.app);
      if (instance !== undefined) return `sealift-${isOne ? "job" : "app"}@${instance}`;
      throw usageError("usage", `The unit sealift-app@${id} runs ${id} of ${belongsTo}.`);
    }),
  );
  return logCommands({ supervisor: "systemd", template: "<id>", units, lines, follow, systemdScope });
}

export interface LogReading {
  /** Most characters kept of a line. */
  maxCharacters: number;
  /** Called with each line; its result is awaited before the next one is read. */
  onLine: (line: LogLine) => void | Promise<void>;
  signal: AbortSignal;
}

/**
 * Reads logs until their programs have ended and their files are read; aborting the signal ends them. One that fails
 * does not end the others.
 *
 * @throws DeploymentError `supervisor_failed` for the first one that failed
 */
export async function readLogs(sources: readonly LogSource[], reading: LogReading): Promise<void> {
  const single = sources.length === 1;
  const ended = await Promise.allSettled(
    sources.map((source) => {
      const unit = single ? null : source.unit;
      return "command" in source ? readProgram(source.command, unit, reading) : readFileOf(source, unit, reading);
    }),
  );
  for (const result of ended) if (result.status === "rejected") throw result.reason;
}

const readFileOf = (
  { log, lines, follow }: LogFileSource,
  unit: string | null,
  { maxCharacters, onLine, signal }: LogReading,
): Promise<void> =>
  readRotatedLog(log, { lines, follow, maxCharacters, signal, onLine: (line) => onLine({ unit, line }) });

/** Grace period for a program to end, in milliseconds. */
const KILL_AFTER_MS = 2_000;

async function readProgram(command: LogCommand["command"], unit: string | null, reading: LogReading): Promise<void> {
  const { signal } = reading;
  if (signal.aborted) return;
  const [program, ...args] = command;
  const child = spawn(program, args, { env: childEnvironment(), stdio: ["ignore", "pipe", "pipe"] });
  const stop = (): void => {
    child.kill("SIGTERM");
    // A wrapper's own child may outlive it: without a reader it ends as well.
    child.stdout.destroy();
    child.stderr.destroy();
  };
  signal.addEventListener("abort", stop, { once: true });
  const ended = once(child, "close") as Promise<[number | null]>;
  try {
    // Programs that print containers' output use their own stderr for the containers' stderr.
    const [[code]] = await Promise.all([
      ended,
      readLines(child.stdout, unit, reading),
      readLines(child.stderr, unit, reading),
    ]);
    if (code !== 0 && !signal.aborted)
      throw deploymentError("supervisor_failed", `\`${command.join(" ")}\` ended with ${code ?? "a signal"}.`);
  } catch (error) {
    if (signal.aborted) return;
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw deploymentError("supervisor_failed", `${program} is not installed here.`, { cause: error });
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
    const killing = setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS);
    // A reader that gives up, such as a destroyed stream, leaves no program behind.
    await ended.catch(() => {});
    clearTimeout(killing);
  }
}

async function readLines(stream: Readable, unit: string | null, reading: LogReading): Promise<void> {
  const cutter = new LineCutter(reading.maxCharacters);
  const tell = async (lines: readonly string[]): Promise<void> => {
    for (const line of lines) await reading.onLine({ unit, line });
  };
  for await (const chunk of stream) await tell(cutter.take(chunk as Buffer));
  await tell(cutter.end());
}

/** Units whose logs are read, and how. */
export interface LogRequest {
  supervisor: SupervisorName;
  /** Template of the units' names; `<id>` is the plugin. */
  template?: string | undefined;
  /** Plugins, and null for the project's own unit. */
  units: readonly (string | null)[];
  /** Lines to start with, per unit. */
  lines: number;
  follow: boolean;
  systemdScope: "system" | "user";
}

/** Program that prints logs on its stdout. */
export interface LogCommand {
  /** Unit of all its lines; null when each line names its own. */
  unit: string | null;
  command: readonly [string, ...string[]];
}

/** Files that hold the log of one unit. */
export interface LogFileSource {
  unit: string | null;
  log: RotatedLog;
  lines: number;
  follow: boolean;
}

/** Place of one or more logs. */
export type LogSource = LogCommand | LogFileSource;

/**
 * Returns the programs that print the logs of units, as their supervisor keeps them.
 *
 * @throws UsageError `usage` for a supervisor that keeps none
 */
export function logCommands(request: LogRequest): LogCommand[] {
  const { supervisor, template, lines, follow, systemdScope } = request;
  const units = request.units.map((plugin) => unitName(template, plugin));
  switch (supervisor) {
    case "systemd": {
      const own = units.map((unit) => `--unit=${unit}`);
      const scope = systemdScope === "user" ? own.map((unit) => unit.replace("--unit", "--user-unit")) : own;
      const command = ["journalctl", "--no-pager", `--lines=${lines}`, ...(follow ? ["--follow"] : []), ...scope];
      return [{ unit: null, command: command as [string, ...string[]] }];
    }
    case "docker":
      return units.map((unit) => ({
        unit,
        command: ["docker", "logs", `--tail=${lines}`, ...(follow ? ["--follow"] : []), unit],
      }));
    case "runtime":
      throw usageError("usage", "The runtime writes the lines of its plugins to its own standard output.", {
        hint: "Each has its plugin's name. Look where `runtime-serve` was started; under systemd that is `sealift logs TARGET --supervisor systemd --supervisor-name sealift-runtime`.",
      });
    case "none":
      throw usageError("usage", "Without a supervisor nobody keeps the logs of what is installed.", {
        hint: "Give the --supervisor that the target is deployed with.",
      });
  }
}
