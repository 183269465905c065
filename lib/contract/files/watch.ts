import * as z from "zod";

/** `watch.yaml`: the targets of one watch, and the options that they share. */

const text = z.string().min(1);
/** Relative to the folder of the file. Secrets stand in files of their own, never here. */
const path = text.refine((value) => value !== "-", "must be a file: standard input cannot be read again");
const count = z.int().min(1);
/** Bytes, or a text with K, M, G or T. */
const size = z.union([z.int().min(0), z.string().regex(/^\d+(?:[KMGT](?:i?B)?)?$/i, "must be a size such as 500M")]);
/** Seconds, or a text with a unit. */
const time = z.union([
  z.number().positive(),
  z.string().regex(/^\d+(?:\.\d+)?(?:ms|s|m|h|d)?$/, "must be a time such as 60, 90s or 5m"),
]);

/** Options that a target may have of its own; without one, that of the file counts, then the command's. */
const shared = {
  hub_url: text.optional(),
  api_key_file: path.optional(),
  timeout: time.optional(),
  interval: time.optional(),
  project_root: path.optional(),
  host_id: text.optional(),
  supervisor: z.enum(["none", "runtime", "systemd", "docker", "kubernetes"]).optional(),
  supervisor_name: text.optional(),
  systemd_scope: z.enum(["system", "user"]).optional(),
  k8s_namespace: text.optional(),
  k8s_context: text.optional(),
  runtime_url: text.optional(),
  plugin_key_file: path.optional(),
  plugin_secret_key_file: path.optional(),
  provisioners_config: path.optional(),
  notifiers_config: path.optional(),
  keep_releases: count.optional(),
  keep_reports: count.optional(),
  allow_downgrade: z.boolean().optional(),
  lock_wait: time.optional(),
  deployment_credential_file: path.optional(),
  /** A file, or the key itself in hex or base64. */
  signer_public_key: text.optional(),
  trust_on_first_use: z.boolean().optional(),
  signing_secret_file: path.optional(),
  install_plan: path.optional(),
  symlinks: z.enum(["refuse", "skip"]).optional(),
  max_entries: count.optional(),
  max_entry_size: size.optional(),
  max_total_size: size.optional(),
  max_ratio: count.optional(),
  max_depth: count.optional(),
  max_name_length: count.optional(),
};

/** Options whose values are paths: relative ones start at the folder of the file. */
export const WATCH_PATHS: ReadonlySet<string> = new Set([
  "api_key_file",
  "project_root",
  "plugin_key_file",
  "plugin_secret_key_file",
  "provisioners_config",
  "notifiers_config",
  "deployment_credential_file",
  "signing_secret_file",
  "install_plan",
]);

export const watchEntry = z.strictObject({
  target: z
    .string()
    .regex(
      /^(plugin|service|project):[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/,
      "must be plugin:SLUG, service:SLUG or project:ID",
    ),
  ...shared,
});
export type WatchEntry = z.output<typeof watchEntry>;

export const watchConfig = z.strictObject({ ...shared, targets: z.array(watchEntry).min(1).max(1000) });
export type WatchConfig = z.output<typeof watchConfig>;
