import * as z from "zod";
import { later } from "../later.ts";
import { segment } from "./segment.ts";

/** Surface C on the wire (docs/contract/runtime.md). */

interface RuntimeCodeEntry {
  status: 400 | 401 | 403 | 404 | 413 | 429 | 500 | 503;
  meaning: string;
}

const at = (status: RuntimeCodeEntry["status"], meaning: string): RuntimeCodeEntry => ({ status, meaning });

/** Every error code of the runtime, with its HTTP status. A released code keeps its meaning. */
export const RUNTIME_CODES = {
  // Before a call
  key_missing: at(401, "The request carries no X-Plugin-Key."),
  key_rejected: at(401, "The X-Plugin-Key is wrong."),
  token_missing: at(401, "The plugin's route asks for a bearer token and the request carries none."),
  token_invalid: at(401, "The bearer token does not verify, has expired, or is for another issuer or audience."),
  auth_not_configured: at(401, "The route asks for a token and the configuration has no auth.jwt section."),
  forbidden: at(403, "The token lacks a permission that the plugin's route declares."),
  not_found: at(404, "There is no such route."),
  plugin_not_found: at(404, "No plugin of this name is on disk."),
  action_not_found: at(404, "The plugin has no action of this name."),
  not_loaded: at(404, "The plugin is known and not in memory: it is idle, or failed to load."),
  bad_request: at(400, "The body is not an object with an optional `payload`, or the URL or body is malformed."),
  bad_json: at(400, "The body is not valid JSON."),
  payload_invalid: at(400, "The payload does not fit the action's schema."),
  payload_too_large: at(413, "The body is larger than the runtime accepts."),
  payload_too_complex: at(413, "The body has more JSON values than the plugin takes."),
  rate_limited: at(429, "The plugin has been called more often than its rate limit allows."),

  // During a call
  action_failed: at(500, "The action threw or rejected."),
  timed_out: at(500, "The action took longer than the plugin's time-out and was cancelled."),
  plugin_crashed: at(500, "The plugin's process ended while it ran the action."),
  memory_exceeded: at(500, "The plugin's process exceeded its memory limit and was ended."),
  disk_exceeded: at(500, "The plugin's data folder exceeds its disk limit."),
  channel_violated: at(500, "The plugin's process broke the protocol of its channel and was ended."),
  result_not_serialisable: at(500, "The action returned something that JSON cannot carry."),
  result_too_large: at(500, "The action returned more than one reply may hold."),
  permission_denied: at(
    500,
    "The plugin used a service, an event or another plugin that its permissions do not allow.",
  ),
  service_unavailable: at(500, "A service that the plugin used is not configured or does not answer."),
  call_too_deep: at(500, "Plugins called each other in a chain that is too long."),

  // Lifecycle
  load_failed: at(500, "The plugin's code could not be loaded, or its onLoad failed."),
  unhealthy: at(500, "The new instance of the plugin did not pass its health check."),
  descriptor_invalid: at(500, "The plugin's plugin.yaml is missing or not valid."),
  name_reserved: at(500, "The plugin has a name that the runtime keeps for itself."),
  name_duplicate: at(500, "Another folder holds a plugin of the same name."),
  entry_missing: at(500, "The plugin's entry point does not exist, or lies outside its folder."),
  requirement_missing: at(500, "A plugin that this one requires is missing, failed, or has another version."),
  requirement_cycle: at(500, "The plugin requires itself, directly or through others."),
  environment_missing: at(500, "A variable that the plugin needs is not set, or belongs to the runtime itself."),
  signature_missing: at(500, "A trusted plugin has no plugin.sig, or the runtime has no key to check it with."),
  signature_invalid: at(500, "A trusted plugin's plugin.sig does not verify or is for another version."),
  link_outside: at(500, "A link in the plugin's folder leads out of it."),
  sandbox_unavailable: at(500, "This host cannot give the plugin the sandbox that it needs."),
  retries_exhausted: at(500, "The plugin's process ended too often; it is started again after a pause, or by a load."),
  internal: at(500, "A defect in the runtime: please report it."),
} as const satisfies Record<string, RuntimeCodeEntry>;

export type RuntimeCode = keyof typeof RUNTIME_CODES;

/**
 * Words that, after a plugin's name, are routes of the runtime and win over actions of the same name
 * (docs/contract/runtime.md).
 */
export const LIFECYCLE_WORDS = ["load", "reload", "unload"] as const;
/** Segment under the prefix with the system's routes; no plugin can have this name. */
export const IPC_SEGMENT = "ipc";

/** Returns the paths of surface C under the configured prefix (`/plugin` by default). */
export const runtimePaths = (prefix = "/plugin") => ({
  call: (plugin: string, action: string) => `${prefix}/${IPC_SEGMENT}/${segment(plugin)}/${segment(action)}`,
  status: () => `${prefix}/${IPC_SEGMENT}/status`,
  load: (plugin: string) => `${prefix}/${IPC_SEGMENT}/${segment(plugin)}/load`,
  reload: (plugin: string) => `${prefix}/${IPC_SEGMENT}/${segment(plugin)}/reload`,
  unload: (plugin: string) => `${prefix}/${IPC_SEGMENT}/${segment(plugin)}/unload`,
  health: () => `${prefix}/${IPC_SEGMENT}/health`,
  metrics: () => `${prefix}/${IPC_SEGMENT}/metrics`,
  route: (plugin: string, path: string) => `${prefix}/${segment(plugin)}${path.startsWith("/") ? path : `/${path}`}`,
});

export const pluginState = later(() => z.enum(["loaded", "idle", "error"]));
export type PluginState = z.infer<typeof pluginState>;

export const executionMode = later(() => z.enum(["trusted", "sandboxed"]));
export type ExecutionMode = z.infer<typeof executionMode>;

export const lifecycleAnswer = later(() => z.object({ status: z.literal("ok"), msg: z.string() }));

export const pluginStatus = later(() =>
  z.object({
    name: z.string(),
    /** Null without a valid descriptor. */
    version: z.string().nullable(),
    mode: executionMode.nullable(),
    state: pluginState,
    /** Agent's release from which the plugin was loaded. Omitted where no agent has deployed it. */
    release: z.string().optional(),
    uptime_seconds: z.number().nonnegative(),
    pid: z.int().optional(),
    restarts: z.int().optional(),
    memory_mb: z.number().optional(),
    /** Means that confine a sandboxed plugin, such as `node`, `uid 65534` and `bubblewrap 0.8.0`. */
    held_by: z.array(z.string()).optional(),
    /** Enforcement of `max_disk_mb` on `data/`, for sandboxed plugins. */
    disk: z
      .object({
        /** `sampled`: measured while the plugin works, so it may exceed its limit between two measurements. */
        bound: z.enum(["sampled"]),
        interval_ms: z.int(),
        max_mb: z.number(),
        /** Megabytes in use, as last measured. */
        used_mb: z.number().optional(),
      })
      .optional(),
    /** Processes of a sandboxed plugin that runs in more than one. */
    instances: z
      .array(
        z.object({
          pid: z.int().optional(),
          restarts: z.int(),
          memory_mb: z.number().optional(),
          in_flight: z.int(),
          /** False while it is being restarted. */
          serving: z.boolean(),
        }),
      )
      .optional(),
    error: z.string().optional(),
    error_code: z.string().optional(),
    /**
     * Number of generations of the code that Node holds, for trusted ES modules; the next field is their source bytes.
     */
    generations: z.int().optional(),
    generation_bytes: z.int().optional(),
  }),
);
export type PluginStatus = z.infer<typeof pluginStatus>;

export const statusAnswer = later(() => z.object({ plugins: z.array(pluginStatus), count: z.int() }));

export const healthStatus = later(() => z.enum(["healthy", "degraded", "unhealthy"]));
export type HealthStatus = z.infer<typeof healthStatus>;
export const healthCheck = later(() =>
  z.object({ status: healthStatus, message: z.string(), duration_ms: z.number() }),
);
export type HealthCheck = z.infer<typeof healthCheck>;
export const healthAnswer = later(() => z.object({ status: healthStatus, checks: z.record(z.string(), healthCheck) }));
export type HealthAnswer = z.infer<typeof healthAnswer>;

export const metricsAnswer = later(() =>
  z.object({
    counters: z.record(z.string(), z.number()),
    gauges: z.record(z.string(), z.number()),
    histograms: z.record(
      z.string(),
      z.object({ count: z.number(), sum: z.number(), buckets: z.record(z.string(), z.number()) }),
    ),
  }),
);
export type MetricsAnswer = z.infer<typeof metricsAnswer>;

/** Error body of the runtime; `error` repeats `msg` for clients that read that field. */
export const runtimeErrorBody = later(() =>
  z.object({
    status: z.literal("error"),
    msg: z.string(),
    code: z.string(),
    error: z.string(),
  }),
);
export type RuntimeErrorBody = z.infer<typeof runtimeErrorBody>;
