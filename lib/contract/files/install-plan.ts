import * as z from "zod";
import { pathBelow, pluginId } from "../identifiers.ts";
import { later } from "../later.ts";
import { seconds } from "./seconds.ts";

const stepId = later(() => z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, "must be 1 to 64 of a-z, 0-9, _ and -"));

const relativePath = later(() => pathBelow("must be a relative path without .."));

const common = {
  id: stepId,
  depends_on: z.array(stepId).default([]),
  /** Marker without effect: any failure already restores what ran before. */
  snapshot: z.boolean().default(false),
};

const step = <A extends string, F extends z.core.$ZodLooseShape>(action: A, fields: F) =>
  z.strictObject({ ...common, action: z.literal(action), ...fields });

/** Step of the plan. Deliberately there is no shell action (docs/contract/install-plan.md). */
export const installStep = later(() =>
  z.discriminatedUnion("action", [
    step("prepare", {}),
    step("download", {}),
    step("extract", {}),
    step("configure_plugin", { plugin: pluginId }),
    step("provision", { plugin: pluginId.optional(), app: pluginId.optional() }).refine(
      ({ plugin, app }) => (plugin === undefined) !== (app === undefined),
      "names one plugin, or one app",
    ),
    step("install_plugin", { plugin: pluginId, source: relativePath.optional() }),
    /** Implies its restart and health check after the switch (docs/contract/application.md). */
    step("install_app", { app: pluginId }),
    step("install_extension", { extension: pluginId, source: relativePath.optional() }),
    step("write_env", { plugin: pluginId, from: relativePath }),
    step("start", { plugin: pluginId.optional() }),
    step("stop", { plugin: pluginId.optional() }),
    step("restart", { plugin: pluginId.optional() }),
    step("healthcheck", {
      plugin: pluginId.optional(),
      timeout: seconds.default(30),
      retries: z.int().min(0).max(20).default(3),
    }),
    step("notify", { event: z.string().min(1).max(128), message: z.string().max(4096).optional() }),
    step("rollback", { to: z.string().max(128).optional() }),
  ]),
);

/** `install.yaml`: on surface B a signed member of the artifact, on surface A the operator's own file. */
export const installPlan = later(() =>
  z.strictObject({
    format_version: z.literal("1"),
    project_id: z.string().min(1).max(128),
    /** Informative: the version is that of the artifact, or the requested one. */
    version: z.string().min(1).max(128).optional(),
    steps: z.array(installStep).min(1).max(1000),
  }),
);

export type InstallPlan = z.infer<typeof installPlan>;
export type InstallStep = z.infer<typeof installStep>;

const operatorCommand = (timeout: number) =>
  z.strictObject({
    command: z.array(z.string().min(1)).min(1),
    env: z.record(z.string(), z.string()).default({}),
    /** Time limit, in seconds. */
    timeout: z.number().positive().max(86_400).default(timeout),
  });

/** Returns the unit of a step that a supervisor carries out: a plugin, or null for the project's own. */
export function unitOf(step: InstallStep): string | null | undefined {
  switch (step.action) {
    case "start":
    case "stop":
    case "restart":
    case "healthcheck":
      return step.plugin ?? null;
    default:
      return undefined;
  }
}

/** Plugin's id, or `apps/` and an application's. */
const provisioned = later(() =>
  z.string().refine((key) => pluginId.safeParse(key.replace(/^apps\//, "")).success, {
    message: "must be the id of a plugin, or apps/ and that of an application",
  }),
);

/** `provisioners.yaml`: plugin id, or `apps/<id>` → command of the operator. */
export const provisioners = later(() => z.record(provisioned, operatorCommand(300)));
/** `notifiers.yaml`: event → command of the operator. */
export const notifiers = later(() => z.record(z.string().min(1).max(128), operatorCommand(30)));

export type Provisioners = z.infer<typeof provisioners>;
export type Notifiers = z.infer<typeof notifiers>;
