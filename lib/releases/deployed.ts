import { stat } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { later } from "../contract/later.ts";
import type { TargetName } from "../contract/target.ts";
import { ifThere } from "../support/files.ts";
import { leaveStanding } from "./health.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import type { Layout } from "./layout.ts";

/** Most versions remembered per target. */
const MAX_VERSIONS = 1000;

const deployed = later(() =>
  z.object({
    /** Mark of the folder that the file was written into, from {@link markOf}. */
    folder: z.string().min(1),
    /** Options of the last deployment by their keys in `sealift.yaml`. Never a secret, only the file that holds it. */
    settings: z.record(z.string(), z.string()),
    /** Versions that the target has run, each with its last switch, most recent last. */
    ran: z.array(
      z.object({
        version: z.string(),
        release: z.string(),
        at: z.string(),
        /** Whether a health check has passed after the switch, and it was healthy when it was left; else missing. */
        healthy: z.boolean().optional(),
      }),
    ),
  }),
);
/** Versions that a target has run on this host, and its settings (docs/contract/host.md). */
export type Deployed = Readonly<Omit<z.infer<typeof deployed>, "folder">>;
export type Settings = Deployed["settings"];

export const deployedFile = (layout: Layout, target: TargetName): string =>
  join(layout.sealift, "state", `deployed-${target}.json`);

/**
 * Returns a mark that distinguishes a folder from its copies: its inode number and birth time. Empty where the file
 * system records no birth time.
 */
async function markOf(folder: string): Promise<string> {
  const stats = await ifThere(stat(folder, { bigint: true }));
  return stats === undefined || stats.birthtimeNs === 0n ? "" : `${stats.ino}-${stats.birthtimeNs}`;
}

/**
 * Reads what a target has run. Its settings decide where a secret is sent, so a file of another user is ignored, and so
 * is one that came with a copied, cloned or unpacked folder.
 */
export async function readDeployed(layout: Layout, target: TargetName): Promise<Deployed | undefined> {
  const file = deployedFile(layout, target);
  const owner = (await ifThere(stat(file)))?.uid;
  if (owner !== undefined && process.getuid !== undefined && owner !== process.getuid()) return undefined;
  const found = await readJsonFile(file, deployed);
  return found?.folder === (await markOf(layout.sealift)) ? found : undefined;
}

/**
 * Records a switch. Requires the lock of the target, and comes before the switch is committed. The release that is left
 * was not healthy if a watch has found so.
 */
export async function rememberDeployed(
  layout: Layout,
  target: TargetName,
  { version, release, settings, healthy }: { version: string; release: string; settings: Settings; healthy: boolean },
): Promise<void> {
  const sick = await leaveStanding(layout, target);
  const before = (await readDeployed(layout, target))?.ran ?? [];
  const ran = [
    ...before
      .filter((run) => run.version !== version)
      .map(({ healthy: was = false, ...run }) => ({ ...run, ...(was && run.release !== sick && { healthy: true }) })),
    { version, release, at: new Date().toISOString(), ...(healthy && { healthy }) },
  ];
  const record = { folder: await markOf(layout.sealift), settings, ran: ran.slice(-MAX_VERSIONS) };
  await writeJsonFile(deployedFile(layout, target), record, { durable: layout.durability !== "none" });
}
