import * as z from "zod";
import { later } from "../later.ts";
import { pluginName } from "./descriptor.ts";
import { addressRange, network } from "./host-rule.ts";

/**
 * `integration.yaml` (docs/contract/runtime.md#configuration). `${VAR}` is replaced in values before they are parsed.
 */

const port = later(() => z.coerce.number().pipe(z.int().min(0).max(65_535)));
const flag = later(() => z.union([z.boolean(), z.enum(["true", "false"]).transform((word) => word === "true")]));
const amount = later(() => z.coerce.number());

const server = later(() =>
  z.strictObject({
    host: z.string().min(1).default("127.0.0.1"),
    port: port.default(8000),
    /** Largest request body, in bytes; at most 7 MiB, so that it fits a sandbox's frame. */
    body_limit: amount
      .pipe(
        z
          .int()
          .min(1024)
          .max(7 * 1024 * 1024),
      )
      .default(4 * 1024 * 1024),
    /** Time limit for a whole request to arrive, in seconds; then it is answered with 408. */
    request_seconds: amount.pipe(z.number().min(1).max(86_400)).default(300),
    /** Time that a closing runtime waits for calls in flight, in seconds. */
    drain_seconds: amount.pipe(z.number().min(0).max(600)).default(10),
  }),
);

const app = later(() =>
  z.strictObject({
    name: z.string().min(1).max(128).default("sealift"),
    env: z.string().min(1).default("development"),
    /** Plugin key, required by every route of surface C but the plugins' own. */
    secret_key: z.string().min(1, "the plugin key must not be empty"),
    plugin_prefix: z
      .string()
      .regex(/^(\/[A-Za-z0-9_.-]+)+$/, "must be a path such as /plugin")
      .default("/plugin"),
    server: server.prefault({}),
  }),
);

const grant = later(() =>
  z.strictObject({
    /** Hosts that the plugin may reach, of those that it requests; `true` for all of them. */
    network: network(flag).default(false),
    /** Private ranges that names may resolve to. An address listed in `network` itself needs none. */
    private_addresses: z.array(addressRange).default([]),
  }),
);

const sandbox = later(() =>
  z.strictObject({
    /**
     * Runs sandboxes as another user when the runtime was started as root. With `false` they stay root, confined by
     * Node's permission model alone.
     */
    change_user: flag.default(true),
    /**
     * Wall of the operating system around each sandbox. If none can be built, `required` refuses to load sandboxed
     * plugins and `preferred` loads them anyway. Default: `required` where `app.env` is production, otherwise
     * `preferred`.
     */
    wall: z.enum(["required", "preferred", "off"]).optional(),
    /** Upper limit of the processor for one sandbox, whatever its descriptor says, in percent of one core. */
    cpu_percent: amount.pipe(z.int().min(1).max(6400)).default(100),
    /** Size of each sandbox's own `/tmp` in memory, in MB, where the wall supports one; 0 for none. */
    scratch_mb: amount.pipe(z.int().min(0).max(4096)).default(16),
    /**
     * Limit on reading, and on writing, the disk of a sandbox's `data/`, in megabytes per second. Enforced where the
     * runtime has control groups with `io`. Default: no limit.
     */
    io_mb_per_second: amount.pipe(z.int().min(1).max(100_000)).optional(),
    uid: amount.pipe(z.int().min(1)).default(65_534),
    gid: amount.pipe(z.int().min(1)).default(65_534),
    /** Time after which a process is ended that does not finish a cancelled call or an unload, in milliseconds. */
    grace_ms: amount.pipe(z.int().min(10).max(60_000)).default(500),
    /** Times that a process may end within `restart_window_seconds` before the plugin goes to `error`. */
    max_restarts: amount.pipe(z.int().min(0).max(1000)).default(5),
    restart_window_seconds: amount.pipe(z.number().positive()).default(60),
    /** Pause before the first restart, in milliseconds; doubled each time. */
    backoff_ms: amount.pipe(z.int().min(0).max(60_000)).default(100),
    /** Time limit for the start of a plugin, in seconds. */
    start_seconds: amount.pipe(z.number().positive().max(600)).default(20),
  }),
);

/** Settings of one plugin, under its name in `plugins`. */
const ofPlugin = later(() =>
  z.strictObject({
    /** Processes of a sandboxed plugin. */
    instances: amount.pipe(z.int().min(1).max(64)).default(1),
  }),
);

const plugins = later(() =>
  z
    .object({
      /** Path relative to the folder of the configuration. */
      directory: z.string().min(1).default("plugins"),
      /** Key for checking `plugin.sig`. */
      secret_key: z.string().min(1).optional(),
      strict_trusted: flag.default(true),
      grants: z.record(pluginName, grant).default({}),
      sandbox: sandbox.prefault({}),
      /** Source bytes of trusted ES modules beyond which health is degraded; Node never frees them. */
      max_generation_bytes: amount.pipe(z.int().positive()).default(64 * 1024 * 1024),
    })
    .catchall(ofPlugin),
);

/** Returns the number of processes of a sandboxed plugin: `plugins.<name>.instances`. */
export const instancesOf = (section: Integration["plugins"], plugin: string): number => section[plugin]?.instances ?? 1;

const database = later(() => z.strictObject({ type: z.enum(["sqlite", "postgresql"]), url: z.string().min(1) }));

const cache = later(() =>
  z.strictObject({
    backend: z.enum(["memory", "redis"]).default("memory"),
    url: z.string().min(1).optional(),
    /** Lifetime of an entry whose writer states none, in seconds; 0 is for ever. */
    ttl: amount.pipe(z.number().min(0)).default(300),
    /** Most entries of the memory backend; the least recently used is evicted first. */
    max_size: amount.pipe(z.int().positive()).default(10_000),
  }),
);

const job = later(() =>
  z
    .strictObject({
      name: z.string().min(1).max(128),
      plugin: pluginName,
      action: z.string().min(1).max(128),
      payload: z.unknown().optional(),
      /** Seconds between runs. */
      interval_seconds: amount.pipe(z.number().min(0.1)).optional(),
      /** Five fields, in local time: minute, hour, day of month, month, day of week. */
      cron: z.string().optional(),
    })
    .refine((entry) => (entry.interval_seconds === undefined) !== (entry.cron === undefined), {
      message: "needs either interval_seconds or cron",
    }),
);
export type JobConfiguration = z.output<typeof job>;

const extension = later(() =>
  z.strictObject({
    /** Folder under extensions/, or a module file in one: `geo`, `geo/src/main.js`. */
    module: z.string().min(1).max(1024),
    config: z.record(z.string(), z.unknown()).default({}),
  }),
);

const services = later(() =>
  z.strictObject({
    databases: z.record(pluginName, database).default({}),
    cache: cache.prefault({}),
    scheduler: z.strictObject({ jobs: z.array(job).default([]) }).prefault({}),
    extensions: z.record(pluginName, extension).default({}),
  }),
);

/** Algorithms by the kind of key that verifies them: a configuration that mixes both would let a public key sign. */
const ASYMMETRIC = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"] as const;
const SYMMETRIC = ["HS256", "HS384", "HS512"] as const;

const jwt = later(() =>
  z
    .strictObject({
      algorithms: z.array(z.enum([...ASYMMETRIC, ...SYMMETRIC])).min(1),
      issuer: z.string().min(1),
      audience: z.string().min(1),
      jwks_url: z.url({ protocol: /^https?$/ }).optional(),
      public_key_file: z.string().min(1).optional(),
      secret_file: z.string().min(1).optional(),
    })
    .refine((entry) => [entry.jwks_url, entry.public_key_file, entry.secret_file].filter(Boolean).length === 1, {
      message: "needs exactly one of jwks_url, public_key_file and secret_file",
    })
    .refine(
      (entry) =>
        entry.algorithms.every(
          (name) => (SYMMETRIC as readonly string[]).includes(name) === Boolean(entry.secret_file),
        ),
      { message: "algorithms do not fit the kind of key: HS* with secret_file, all others with a public key" },
    ),
);
export type JwtConfiguration = z.output<typeof jwt>;

const observability = later(() =>
  z.strictObject({
    logging: z
      .strictObject({ level: z.enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"]).default("info") })
      .prefault({}),
    metrics: z
      .strictObject({
        /** Whether `/metrics` requires no key. */
        open: flag.default(false),
        /** Duration after which a blocked event loop is reported, in milliseconds. */
        blocked_after_ms: amount.pipe(z.int().min(50)).default(1000),
      })
      .prefault({}),
  }),
);

export const integration = later(() =>
  z.strictObject({
    app,
    plugins: plugins.prefault({}),
    services: services.prefault({}),
    auth: z.strictObject({ jwt: jwt.optional() }).prefault({}),
    observability: observability.prefault({}),
  }),
);
export type Integration = z.output<typeof integration>;
