import * as z from "zod";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import type { Layout, Target } from "./layout.ts";

const quarantineEntry = z.object({
  version: z.string(),
  /** What tells two artifacts of one version apart; null when the bytes were never known. */
  identity: z.string().nullable(),
  code: z.string(),
  reason: z.string(),
  at: z.string(),
});
export type QuarantineEntry = z.infer<typeof quarantineEntry>;

const targetState = z.object({ quarantine: z.array(quarantineEntry).default([]) });

/** Versions that were rolled back or failed a check, newest last (docs/contract/host.md). */
export async function readQuarantine(layout: Layout, target: Target): Promise<QuarantineEntry[]> {
  return (await readJsonFile(layout.state(target), targetState))?.quarantine ?? [];
}

/** Keeps a version out of the loop until a newer one comes or a person asks. */
export async function quarantine(layout: Layout, target: Target, entry: QuarantineEntry): Promise<void> {
  const others = (await readQuarantine(layout, target)).filter(({ version }) => version !== entry.version);
  await writeJsonFile(layout.state(target), { quarantine: [...others, entry].slice(-100) });
}

/** Lets a version in again: it was deployed after all. */
export async function releaseFromQuarantine(layout: Layout, target: Target, version: string): Promise<void> {
  const entries = await readQuarantine(layout, target);
  const others = entries.filter((entry) => entry.version !== version);
  if (others.length < entries.length) await writeJsonFile(layout.state(target), { quarantine: others });
}
