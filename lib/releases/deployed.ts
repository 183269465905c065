import { stat } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import type { TargetName } from "../contract/target.ts";
import { ifThere } from "../support/files.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import type { Layout } from "./layout.ts";

/** Versions that are remembered of a target. */
const MAX_VERSIONS = 1000;

const deployed = z.object({
  /** Options of the last deployment by their keys in `sealift.yaml`. Never a secret, only the file that holds it. */
  settings: z.record(z.string(), z.string()),
  /** The versions that the target has run, each with its last switch, the last one at the end. */
  ran: z.array(z.object({ version: z.string(), release: z.string(), at: z.string() })),
});
/** The versions that a target has run on this host, and its settings (docs/contract/host.md). */
export type Deployed = Readonly<z.infer<typeof deployed>>;
export type Settings = Deployed["settings"];

export const deployedFile = (layout: Layout, target: TargetName): string =>
  join(layout.sealift, "state", `deployed-${target}.json`);

/**
 * Reads what a target has run. A file of another user says nothing: its settings would decide where a secret is sent.
 */
export async function readDeployed(layout: Layout, target: TargetName): Promise<Deployed | undefined> {
  const file = deployedFile(layout, target);
  const owner = (await ifThere(stat(file)))?.uid;
  if (owner !== undefined && process.getuid !== undefined && owner !== process.getuid()) return undefined;
  return readJsonFile(file, deployed);
}

/** Remembers a switch. Under the lock of the target, and before the switch is committed. */
export async function rememberDeployed(
  layout: Layout,
  target: TargetName,
  { version, release, settings }: { version: string; release: string; settings: Settings },
): Promise<void> {
  const before = (await readDeployed(layout, target))?.ran ?? [];
  const ran = [...before.filter((run) => run.version !== version), { version, release, at: new Date().toISOString() }];
  const record: Deployed = { settings, ran: ran.slice(-MAX_VERSIONS) };
  await writeJsonFile(deployedFile(layout, target), record, { durable: layout.durability !== "none" });
}
