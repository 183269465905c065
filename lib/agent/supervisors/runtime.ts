import { isTransient } from "../../client/retry.ts";
import { RuntimeClient, type RuntimeClientOptions } from "../../client/runtime-client.ts";
import { deploymentError, SealiftError } from "../../contract/errors.ts";
import type { RUNTIME_CODES } from "../../contract/surfaces/runtime.ts";
import { type IsCurrent, READY_TIMEOUT_MS, type Supervisor } from "./supervisor.ts";

/** Codes of a working runtime that cannot run this version of the plugin: the version is to blame. */
const OF_THE_VERSION = new Set<string>([
  "load_failed",
  "unhealthy",
  "descriptor_invalid",
  "name_reserved",
  "entry_missing",
  "requirement_cycle",
  "link_outside",
  "plugin_crashed",
  "memory_exceeded",
  "disk_exceeded",
  "channel_violated",
] satisfies (keyof typeof RUNTIME_CODES)[]);

/**
 * Supervises plugins in a Sealift runtime, through surface C: start is load, stop is unload, restart is reload (load
 * for a new plugin). The project's own unit is every plugin that it has installed.
 */
export function runtimeSupervisor(
  options: RuntimeClientOptions,
  installed: readonly string[],
  isCurrent?: IsCurrent,
): Supervisor {
  const client = (signal?: AbortSignal): RuntimeClient => new RuntimeClient({ ...options, ...(signal && { signal }) });
  const each = (plugin: string | null): readonly string[] => (plugin === null ? installed : [plugin]);
  const failed = (doing: string, plugin: string, error: unknown): unknown => {
    if (!(error instanceof SealiftError) || error.kind === "AuthenticationError") return error;
    const why = `${error.reason ?? error.message} (the runtime could not ${doing} ${plugin}).`;
    if (OF_THE_VERSION.has(error.hubCode ?? "")) return deploymentError("unhealthy", why, { cause: error });
    return isTransient(error) ? error : deploymentError("supervisor_failed", why, { cause: error });
  };

  return {
    async ready(signal) {
      const limit = AbortSignal.timeout(READY_TIMEOUT_MS);
      try {
        await client(signal === undefined ? limit : AbortSignal.any([signal, limit])).status();
        return undefined;
      } catch (error) {
        signal?.throwIfAborted();
        return reasonOf(error);
      }
    },
    async idle(signal) {
      const { plugins } = await client(signal).status();
      return plugins.filter(({ state }) => state === "idle").map(({ name }) => name);
    },
    async start(plugin, signal) {
      for (const id of each(plugin)) {
        await client(signal)
          .load(id)
          .catch((error: unknown) => Promise.reject(failed("load", id, error) as Error));
      }
    },
    async stop(plugin, signal) {
      for (const id of each(plugin)) {
        await client(signal)
          .unload(id)
          .catch((error: unknown) => {
            // A plugin that is not loaded is stopped.
            if (!(error instanceof SealiftError && error.status === 404)) throw failed("unload", id, error) as Error;
          });
      }
    },
    async restart(plugin, signal) {
      for (const id of each(plugin)) {
        await client(signal)
          .reload(id)
          .catch(async (error: unknown) => {
            if (!(error instanceof SealiftError && error.status === 404)) throw error;
            await client(signal).load(id);
          })
          .catch((error: unknown) => Promise.reject(failed("reload", id, error) as Error));
      }
    },
    async check(plugin, timeoutMs, signal) {
      const within = new RuntimeClient({
        ...options,
        timeoutMs: Math.min(timeoutMs, options.timeoutMs),
        signal:
          signal === undefined
            ? AbortSignal.timeout(timeoutMs)
            : AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      });
      try {
        const { plugins } = await within.status();
        const { checks } = await within.health();
        for (const id of each(plugin)) {
          const found = plugins.find(({ name }) => name === id);
          if (found === undefined) return `the runtime does not know the plugin ${id}`;
          if (found.state !== "loaded")
            return `the plugin ${id} is ${found.state}${found.error ? `: ${found.error}` : ""}`;
          if (found.release && installed.includes(id) && (await isCurrent?.(id, found.release)) === false)
            throw oldReleaseRuns(id, found.release);
          const health = checks[id] ?? checks[`plugin:${id}`];
          if (health !== undefined && health.status === "unhealthy")
            return `the plugin ${id} is unhealthy: ${health.message ?? "no reason given"}`;
        }
        return undefined;
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof SealiftError && error.code === "old_release_runs") throw error;
        return reasonOf(error);
      }
    },
  };
}

/** Returns the cause alone, without a full stop. */
const reasonOf = (error: unknown): string =>
  (error instanceof SealiftError ? (error.reason ?? error.message) : String(error)).replace(/\.$/, "");

const oldReleaseRuns = (plugin: string, release: string): SealiftError =>
  deploymentError("old_release_runs", `The runtime still runs ${plugin} from the release ${release}.`, {
    hint: "Restart it before the healthcheck: add a restart step to the plan. If it has one, --runtime-url may name the runtime of another project root.",
  });
