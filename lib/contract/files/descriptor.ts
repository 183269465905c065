import * as z from "zod";
import { envName, pathBelow } from "../identifiers.ts";
import { later } from "../later.ts";
import { executionMode } from "../surfaces/runtime.ts";
import { network } from "./host-rule.ts";
import { nearKey } from "./near-keys.ts";

/** `plugin.yaml` (docs/contract/runtime.md#descriptor). */

/** Name of a plugin, used as a path segment of the runtime and a label of its metrics. */
export const pluginName = later(() =>
  z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/,
      "must be 1 to 128 letters, digits, _, . and -, starting with a letter or digit",
    ),
);

const relativePath = later(() => pathBelow("must be a path inside the plugin's folder"));

const text = later(() => z.union([z.string(), z.number(), z.boolean()]).transform(String));

/**
 * Rule on one resource: `database:main`, `cache`, `events`, `extension:geo`, `plugin:other`, with `*` as a wildcard.
 */
export const permissionRule = later(() =>
  z.strictObject({
    resource: z.string().min(1).max(256),
    actions: z.array(z.string().min(1).max(128)).min(1),
    effect: z.enum(["allow", "deny"]).default("allow"),
  }),
);
export type PermissionRule = z.infer<typeof permissionRule>;

const requirement = later(() =>
  z.union([
    pluginName.transform((name) => ({ name, version: "*" })),
    z.strictObject({ name: pluginName, version: z.string().min(1).max(128).default("*") }),
  ]),
);

const resources = later(() =>
  z.strictObject({
    timeout_seconds: z.number().positive().max(3600).default(10),
    max_memory_mb: z.int().min(16).max(1_048_576).default(128),
    max_disk_mb: z.number().positive().max(1_048_576).default(50),
    /** Processor limit of the sandbox, in percent of one core, where the runtime can enforce it. */
    cpu_percent: z.int().min(1).max(6400).optional(),
    rate_limit: z
      .strictObject({
        calls: z.int().positive().default(100),
        period_seconds: z.number().positive().max(86_400).default(60),
      })
      .optional(),
  }),
);

/** JSON values that the body of a call may have where the descriptor states no number. */
export const DEFAULT_BODY_VALUES = 100_000;

const runtime = later(() =>
  z.strictObject({
    health_check: z
      .strictObject({
        enabled: z.boolean().default(true),
        interval_seconds: z.number().positive().max(86_400).default(30),
        timeout_seconds: z.number().positive().max(600).default(3),
      })
      .prefault({}),
    retry: z
      .strictObject({
        /** Attempts of one call in total: 1 means no retry. */
        max_attempts: z.int().min(1).max(10).default(1),
        backoff_seconds: z.number().min(0).max(60).default(0),
      })
      .prefault({}),
    /** JSON values that the body of a call may have, keys included. */
    max_body_values: z.int().min(1).max(1_000_000).default(DEFAULT_BODY_VALUES),
  }),
);

/** Rate limit of a sandboxed plugin whose descriptor states none. */
export const DEFAULT_RATE_LIMIT = { calls: 100, period_seconds: 60 } as const;

const described = later(() =>
  z.object({
    name: pluginName,
    version: z.string().min(1).max(128),
    author: z.string().max(1024).optional(),
    description: z.string().max(4096).optional(),
    framework_version: z.string().max(128).optional(),
    entry_point: relativePath.default("src/main.js"),
    execution_mode: executionMode.default("sandboxed"),
    requires: z.array(requirement).default([]),
    permissions: z.array(permissionRule).default([]),
    env: z.record(envName, text).default({}),
    envconfiguration: z
      .strictObject({ inject: z.boolean().default(true), env_file: relativePath.optional() })
      .prefault({}),
    environment: z
      .strictObject({ required: z.array(envName).default([]), optional: z.array(envName).default([]) })
      .prefault({}),
    resources: resources.prefault({}),
    runtime: runtime.prefault({}),
    filesystem: z
      .strictObject({
        /** Paths inside the plugin's folder that the plugin may write. */
        allowed_paths: z.array(relativePath).default(["data/"]),
        /** Paths that the plugin may never write. */
        denied_paths: z.array(relativePath).default(["src/"]),
      })
      .prefault({}),
    /**
     * Hosts that the plugin requests, or `true` for the whole network; granted by `plugins.grants.<name>.network` of
     * the configuration.
     */
    network: network(z.boolean()).default(false),
  }),
);

const KNOWN = new Set(Object.keys(described.shape));

/**
 * Descriptor with its defaults. Keys outside the contract reach the plugin as its `config`; a likely misspelling of a
 * known key is a fault, because it would be ignored silently.
 */
export const descriptor = later(() =>
  z.looseObject(described.shape).transform((document, context) => {
    for (const key of Object.keys(document)) {
      const meant = KNOWN.has(key) ? undefined : nearKey(key, KNOWN);
      if (meant === undefined) continue;
      const message = `unknown key: did you mean ${meant}? If it is a key of your own, rename it`;
      context.addIssue({ code: "custom", path: [key], message });
    }
    const known: Record<string, unknown> = {};
    const config: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(document)) (KNOWN.has(key) ? known : config)[key] = value;
    return { ...(known as z.output<typeof described>), config };
  }),
);
export type Descriptor = z.output<typeof descriptor>;
