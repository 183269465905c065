import { unitChecks } from "./settling.ts";
import { answers, type Supervisor, type UnitHealth, unitName } from "./supervisor.ts";
import { actOnUnits, sampleUnit, systemctl, type SystemdScope } from "./systemd-units.ts";

export interface SystemdOptions extends UnitHealth {
  /** Template of the names; `<id>` is the plugin. */
  template?: string | undefined;
  scope: SystemdScope;
}

/** Supervises systemd units through `systemctl`. Healthy: active, without a restart, for a while. */
export function systemdSupervisor({ template, scope, ...health }: SystemdOptions): Supervisor {
  const act = (verb: string) => (plugin: string | null, signal?: AbortSignal) =>
    actOnUnits(scope, verb, [unitName(template, plugin)], signal);
  return {
    ready: (signal) => answers(systemctl(scope, "list-jobs"), signal),
    start: act("start"),
    stop: act("stop"),
    restart: act("restart"),
    ...unitChecks(health, (plugin, timeoutMs, signal) =>
      sampleUnit(scope, unitName(template, plugin), timeoutMs, signal),
    ),
  };
}
