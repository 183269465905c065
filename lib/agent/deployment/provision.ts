import { readdir } from "node:fs/promises";
import { join, posix } from "node:path";
import { deploymentError } from "../../contract/errors.ts";
import { APPLICATIONS_FOLDER } from "../../contract/files/application-names.ts";
import type { InstallStep, Provisioners } from "../../contract/files/install-plan.ts";
import { dataFolderOf, type Item, type Layout, sameItem } from "../../releases/layout.ts";
import { unitKey } from "../../releases/names.ts";
import { ifThere, statsOf } from "../../support/files.ts";
import { childEnvironment, describeFailure, runProgram } from "../base/child-program.ts";
import type { Filling } from "./fill-steps.ts";

/** Runs operators' programs on what a release installs (docs/contract/install-plan.md#provisioners). */

type ProvisionStep = Extract<InstallStep, { action: "provision" }>;

/** Returns the plugin or application that a step provisions. */
export const provisionedBy = ({ plugin, app }: ProvisionStep): Item =>
  app === undefined ? { section: "plugins", id: plugin! } : { section: APPLICATIONS_FOLDER, id: app };

/** Returns the operator's program for a plugin or application. @throws DeploymentError `provisioner_missing` */
export function provisionerOf(item: Item, provisioners: Provisioners): Provisioners[string] {
  const key = unitKey(item);
  const entry = provisioners[key];
  if (entry !== undefined) return entry;
  throw deploymentError(
    "provisioner_missing",
    `The plan provisions ${key}, and --provisioners-config has no entry for it.`,
    { hint: `Add ${key} with its command to provisioners.yaml.` },
  );
}

/**
 * Runs the provisioner of a step in the new release, or in the verified tree before the item is installed.
 *
 * @throws DeploymentError `provisioner_missing`, `provision_failed`, `provision_lost`
 */
export async function provision(step: ProvisionStep, context: Filling): Promise<void> {
  const { layout, release, fetched, items, envFiles, version, previousVersion } = context;
  const named = provisionedBy(step);
  const item = items.find((installed) => sameItem(installed, named)) ?? named;
  const entry = provisionerOf(item, context.provisioners);
  const key = unitKey(item);
  const { section, id } = item;
  const installed = join(release, section, id);
  const folder = section === "plugins" ? fetched.plugins.get(id)!.folder : posix.join(section, id);
  const cwd = (await statsOf(installed)) === undefined ? join(fetched.tree, folder) : installed;
  const data = dataFolderOf(item);
  const seed = data === undefined ? undefined : join(cwd, data);
  const before = seed === undefined ? new Map<string, string>() : await stampsBelow(seed);
  const timeoutMs = entry.timeout * 1000;
  context.provisioned.add(`${section}/${id}`);
  const result = await runProgram({
    command: entry.command as [string, ...string[]],
    cwd,
    env: childEnvironment({
      ...entry.env,
      PROVISION_PLUGIN_ID: id,
      PROVISION_ROOT: layout.root,
      PROVISION_ENV_FILE: layout.shown(envFiles.get(key) ?? layout.envFile(item)),
      PROVISION_VERSION: version,
      ...(previousVersion !== undefined && { PROVISION_PREVIOUS_VERSION: previousVersion }),
      ...(data !== undefined && { PROVISION_DATA: layout.shown(layout.data(item)) }),
    }),
    timeoutMs,
    signal: context.signal,
    onLine: (line) => context.emit({ event: "output", source: `provision ${key}`, line }),
  });
  context.signal.throwIfAborted();
  if (result.code !== 0) {
    throw deploymentError("provision_failed", `Provisioning ${key} failed: ${describeFailure(result, timeoutMs)}.`, {
      hint: "Run the provisioner's command by hand to see why.",
    });
  }
  if (seed !== undefined) await checkKept(context.layout, item, before, seed);
}

/** Most files that a message names. */
const NAMED = 5;

/**
 * Checks that what a provisioner has written outlives the switch, which keeps the host's own files.
 *
 * @throws DeploymentError `provision_lost`
 */
async function checkKept(layout: Layout, item: Item, before: ReadonlyMap<string, string>, seed: string): Promise<void> {
  const host = layout.data(item);
  const lost: string[] = [];
  for (const [path, stamp] of await stampsBelow(seed))
    if (before.get(path) !== stamp && (await statsOf(join(host, path))) !== undefined)
      lost.push(`${dataFolderOf(item)}/${path}`);
  if (lost.length === 0) return;
  const more = lost.length > NAMED ? ` and ${lost.length - NAMED} more` : "";
  throw deploymentError(
    "provision_lost",
    `The provisioner of ${unitKey(item)} wrote ${lost.slice(0, NAMED).join(", ")}${more} in the new release, and this host has ` +
      "files of these names, which it keeps: what was written would be lost.",
    { hint: `Have it write to $PROVISION_DATA, which is ${layout.shown(host)}.` },
  );
}

/** Lists the files below a folder, each with facts that change when it is written to. Follows no link. */
async function stampsBelow(
  folder: string,
  prefix = "",
  found = new Map<string, string>(),
): Promise<Map<string, string>> {
  for (const entry of (await ifThere(readdir(join(folder, prefix), { withFileTypes: true }))) ?? []) {
    const path = posix.join(prefix, entry.name);
    if (entry.isDirectory()) await stampsBelow(folder, path, found);
    else {
      const stats = await statsOf(join(folder, path));
      if (stats !== undefined) found.set(path, [stats.ino, stats.size, stats.mtimeMs, stats.ctimeMs].join());
    }
  }
  return found;
}
