import { answers, supervise, type Supervisor, twoSamples, unitName } from "./supervisor.ts";
import { sampleUnit, systemctl, type SystemdScope } from "./systemd-units.ts";

export interface SystemdOptions {
  /** Template of the names; `<id>` is the plugin. */
  template?: string | undefined;
  scope: SystemdScope;
}

/** Supervises systemd units through `systemctl`. Healthy: active and not restarted between two samples. */
export function systemdSupervisor({ template, scope }: SystemdOptions): Supervisor {
  const act = (verb: string) => async (plugin: string | null, signal?: AbortSignal) => {
    await supervise(systemctl(scope, verb, unitName(template, plugin)), signal);
  };
  return {
    ready: (signal) => answers(systemctl(scope, "list-jobs"), signal),
    start: act("start"),
    stop: act("stop"),
    restart: act("restart"),
    check: (plugin, timeoutMs, signal) =>
      twoSamples(() => sampleUnit(scope, unitName(template, plugin), timeoutMs, signal), signal),
  };
}
