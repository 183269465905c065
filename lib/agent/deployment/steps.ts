import { chmod, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { deploymentError, isAbort, SealiftError } from "../../contract/errors.ts";
import type { InstallStep, Notifiers, Provisioners } from "../../contract/files/install-plan.ts";
import type { StepOutcome } from "../../contract/surfaces/reports.ts";
import type { Journal } from "../../releases/journal.ts";
import type { Item, Layout } from "../../releases/layout.ts";
import { makeFolder, statsOf } from "../../support/files.ts";
import { traced } from "../../support/tracing/tracing.ts";
import type { Fetched } from "../sources/source.ts";
import type { Supervisor } from "../supervisors/supervisor.ts";
import { childEnvironment, describeFailure, runProgram } from "./child-program.ts";
import { prepareEnvFile } from "./env-file.ts";
import type { Emit } from "./events.ts";

/** Milliseconds before the second attempt of a healthcheck; each further one waits longer. */
const RETRY_DELAY_MS = 1_000;

export interface StepContext {
  layout: Layout;
  /** Notes units before they are touched. */
  journal: Pick<Journal, "touch">;
  /** The release's folder, not yet visible to anyone. */
  release: string;
  fetched: Fetched;
  supervisor: Supervisor;
  provisioners: Provisioners;
  /** Names that templates may take from this process's environment; every declared one when it is undefined. */
  templateEnvironment?: readonly string[] | undefined;
  notifiers: Notifiers;
  /** The installed items, filled by `install_plugin` and `install_extension`. */
  items: Item[];
  /** `<section>/<id>` → the item's folder in the verified tree. */
  sourceFolders: Map<string, string>;
  /** Plugins that a provisioner has worked on. */
  provisioned: Set<string>;
  /** Plugin id → prepared `.env` file, filled by `write_env`. */
  envFiles: Map<string, string>;
  emit: Emit;
  signal: AbortSignal;
}

/**
 * Carries out steps in order; the first failure ends them. Each is told about, before and after. @throws what the
 * step throws
 */
export async function runSteps(steps: readonly InstallStep[], context: StepContext): Promise<void> {
  for (const step of steps) {
    context.signal.throwIfAborted();
    await tellStep(step, context.emit, () => runStep(step, context));
  }
}

/** Carries out the work of a step, and tells of it before and after. @throws what the work throws */
export async function tellStep(step: InstallStep, emit: Emit, work: () => Promise<void>): Promise<void> {
  emit({ event: "step.started", id: step.id, action: step.action, plugin: pluginOf(step) });
  const started = performance.now();
  const finish = (status: StepOutcome["status"], message: string | null): void => {
    const outcome = {
      id: step.id,
      action: step.action,
      status,
      duration_ms: Math.round(performance.now() - started),
      error_message: message,
    };
    emit({ event: "step.done", outcome });
  };
  const facts = { "sealift.step": step.id, "sealift.plugin": pluginOf(step) ?? undefined };
  try {
    await traced(`step ${step.action}`, facts, work);
    finish("done", null);
  } catch (error) {
    finish("failed", error instanceof Error ? error.message : String(error));
    throw error;
  }
}

/** Returns the plugin or extension that a step names, or null. */
export const pluginOf = (step: InstallStep): string | null =>
  ("plugin" in step ? step.plugin : undefined) ?? ("extension" in step ? step.extension : undefined) ?? null;

async function runStep(step: InstallStep, context: StepContext): Promise<void> {
  const { supervisor, signal } = context;
  switch (step.action) {
    case "prepare":
    case "download":
    case "extract":
    case "configure_plugin":
    case "rollback":
      // The root exists and the bytes are verified before any step; these mark progress (docs/contract/install-
      // plan.md).
      return;
    case "install_plugin":
      return install(
        { section: "plugins", id: step.plugin },
        step.source ?? context.fetched.plugins.get(step.plugin)!.folder,
        context,
      );
    case "install_extension":
      return install(
        { section: "extensions", id: step.extension },
        step.source ?? context.fetched.extensions.get(step.extension)!.folder,
        context,
      );
    case "provision":
      return provision(step.plugin, context);
    case "write_env":
      return writeEnv(step.plugin, step.from, context);
    case "start":
    case "stop":
    case "restart":
      await context.journal.touch(step.plugin ?? null);
      return supervisor[step.action](step.plugin ?? null, signal);
    case "healthcheck":
      return healthcheck(step, context);
    case "notify":
      return notify(step.event, step.message ?? "", context);
  }
}

/** Moves an item from the verified tree to its place in the release. */
async function install(
  item: Item,
  source: string,
  { fetched, release, items, sourceFolders }: StepContext,
): Promise<void> {
  const from = join(fetched.tree, source);
  if ((await statsOf(from))?.isDirectory() !== true) {
    throw deploymentError(
      "plan_invalid",
      `The plan installs ${item.id} from ${source}, which is no folder of the artifact.`,
      {
        hint: "Correct the step's source.",
      },
    );
  }
  const to = join(release, item.section, item.id);
  await makeFolder(dirname(to));
  await rename(from, to);
  // The root of an archive was a private folder until now; whoever runs the plugin has to read it.
  await chmod(to, 0o755);
  items.push(item);
  sourceFolders.set(`${item.section}/${item.id}`, source);
}

/** Returns the operator's program for a plugin. @throws DeploymentError `provisioner_missing` */
export function provisionerOf(plugin: string, provisioners: Provisioners): Provisioners[string] {
  const entry = provisioners[plugin];
  if (entry !== undefined) return entry;
  throw deploymentError(
    "provisioner_missing",
    `The plan provisions ${plugin}, and --provisioners-config has no entry for it.`,
    { hint: `Add ${plugin} with its command to provisioners.yaml.` },
  );
}

async function provision(plugin: string, context: StepContext): Promise<void> {
  const entry = provisionerOf(plugin, context.provisioners);
  const installed = join(context.release, "plugins", plugin);
  const unpacked = join(context.fetched.tree, context.fetched.plugins.get(plugin)!.folder);
  const cwd = (await statsOf(installed)) === undefined ? unpacked : installed;
  const timeoutMs = entry.timeout * 1000;
  context.provisioned.add(plugin);
  const result = await runProgram({
    command: entry.command as [string, ...string[]],
    cwd,
    env: childEnvironment({ ...entry.env, PROVISION_PLUGIN_ID: plugin }),
    timeoutMs,
    signal: context.signal,
    onLine: (line) => context.emit({ event: "output", source: `provision ${plugin}`, line }),
  });
  context.signal.throwIfAborted();
  if (result.code !== 0) {
    throw deploymentError("provision_failed", `Provisioning ${plugin} failed: ${describeFailure(result, timeoutMs)}.`, {
      hint: "Run the provisioner's command by hand to see why.",
    });
  }
}

async function writeEnv(plugin: string, from: string, context: StepContext): Promise<void> {
  const { layout, fetched, release } = context;
  const installed = join(release, "plugins", plugin, from);
  const template = (await statsOf(installed)) === undefined ? await templateInTree(plugin, from, fetched) : installed;
  const prepared = join(release, `${plugin}.env`);
  const isNew = await prepareEnvFile({
    plugin,
    template,
    existing: layout.envFile(plugin),
    prepared,
    required: fetched.plugins.get(plugin)!.requiredEnvironment,
    optional: fetched.plugins.get(plugin)!.optionalEnvironment,
    ...(context.templateEnvironment !== undefined && { allowed: context.templateEnvironment }),
    environment: process.env,
  });
  if (isNew) context.envFiles.set(plugin, prepared);
}

/** `from` is relative to the plugin's folder, or to the artifact's root. */
async function templateInTree(plugin: string, from: string, fetched: Fetched): Promise<string> {
  const own = join(fetched.tree, fetched.plugins.get(plugin)!.folder, from);
  return (await statsOf(own)) === undefined ? join(fetched.tree, from) : own;
}

/** Checks a unit until it is healthy or has used up its attempts. @throws DeploymentError `unhealthy` */
export async function healthcheck(
  step: Extract<InstallStep, { action: "healthcheck" }>,
  { supervisor, emit, signal }: Pick<StepContext, "supervisor" | "emit" | "signal">,
): Promise<void> {
  const plugin = step.plugin ?? null;
  for (let attempt = 0; ; attempt++) {
    const fault = await supervisor.check(plugin, step.timeout * 1000, signal);
    signal.throwIfAborted();
    if (fault === undefined) return;
    emit({ event: "output", source: `healthcheck ${plugin ?? "project"}`, line: fault });
    if (attempt >= step.retries) {
      throw deploymentError(
        "unhealthy",
        `The healthcheck of ${plugin ?? "the project"} failed after ${attempt === 0 ? "one attempt" : `${attempt + 1} attempts`}: ${fault}.`,
      );
    }
    await sleep(RETRY_DELAY_MS * Math.min(attempt + 1, 10), undefined, { signal });
  }
}

/** Never fails a deployment (docs/contract/install-plan.md). */
async function notify(event: string, message: string, context: StepContext): Promise<void> {
  const entry = context.notifiers[event];
  if (entry === undefined) {
    context.emit({
      event: "warning",
      message: `Nobody is notified of ${event}: --notifiers-config has no entry for it.`,
    });
    return;
  }
  try {
    const timeoutMs = entry.timeout * 1000;
    const result = await runProgram({
      command: entry.command as [string, ...string[]],
      env: childEnvironment({ ...entry.env, NOTIFY_EVENT: event, NOTIFY_MESSAGE: message }),
      timeoutMs,
      signal: context.signal,
    });
    if (result.code !== 0)
      context.emit({
        event: "warning",
        message: `The notifier of ${event} failed: ${describeFailure(result, timeoutMs)}.`,
      });
  } catch (error) {
    if (isAbort(error) || error instanceof SealiftError) throw error;
    context.emit({ event: "warning", message: `The notifier of ${event} failed: ${(error as Error).message}.` });
  }
}
