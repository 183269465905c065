import { usageError } from "../../contract/errors.ts";
import { type SupervisorName, unitName } from "./supervisor.ts";

/** The units whose logs are read, and the way to read them. */
export interface LogRequest {
  supervisor: SupervisorName;
  /** Template of the units' names; `<id>` is the plugin. */
  template?: string | undefined;
  /** Plugins, and null for the project's own unit. */
  units: readonly (string | null)[];
  /** Lines of each unit to begin with. */
  lines: number;
  follow: boolean;
  systemdScope: "system" | "user";
  namespace?: string | undefined;
  context?: string | undefined;
}

/** A program that prints logs on its stdout. */
export interface LogCommand {
  /** The unit whose lines they are; null when each line says it itself. */
  unit: string | null;
  command: readonly [string, ...string[]];
}

/**
 * Returns the programs that print the logs of units, as their supervisor keeps them.
 *
 * @throws UsageError `usage` for a supervisor that keeps none
 */
export function logCommands(request: LogRequest): LogCommand[] {
  const { supervisor, template, lines, follow, systemdScope, namespace, context } = request;
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
    case "kubernetes":
      return units.map((unit) => ({
        unit,
        command: [
          "kubectl",
          ...(context === undefined ? [] : ["--context", context]),
          ...(namespace === undefined ? [] : ["--namespace", namespace]),
          ...["logs", `deployment/${unit}`, `--tail=${lines}`, "--all-containers"],
          ...(follow ? ["--follow"] : []),
        ],
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
