import { rm } from "node:fs/promises";
import * as z from "zod";
import { syncFolder } from "../support/files.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import type { Layout, Target } from "./layout.ts";

const item = z.object({ section: z.enum(["plugins", "extensions"]), id: z.string() });

/**
 * What a deployment is about to do, written before it does it. `staging`: nothing that anyone sees has changed. `switching`: links may be
 * half done, and whoever finds the journal undoes them. Without a journal, what `current` names is whole.
 */
export const journal = z.object({
  v: z.literal(1),
  phase: z.enum(["staging", "switching"]),
  deployment_id: z.string(),
  target: z.custom<Target>((value) => typeof value === "string"),
  kind: z.enum(["project", "plugin", "service"]),
  slug: z.string(),
  host_id: z.string(),
  requested_version: z.string(),
  resolved_version: z.string().nullable(),
  started_at: z.string(),
  release: z.string(),
  previous: z.string().nullable(),
  items: z.array(item),
  previous_items: z.array(item),
  /** Real folders that become part of `previous`. */
  adopted: z.array(item),
  /** Ids whose `.env` file this deployment created. */
  env_files: z.array(z.string()),
  /** Units that were stopped, started or restarted; null is the project's own unit. */
  touched: z.array(z.string().nullable()),
});
export type Journal = z.infer<typeof journal>;

export const readJournal = (layout: Layout): Promise<Journal | undefined> => readJsonFile(layout.journal, journal);

export const writeJournal = (layout: Layout, entry: Journal): Promise<void> => writeJsonFile(layout.journal, entry);

export async function clearJournal(layout: Layout): Promise<void> {
  await rm(layout.journal, { force: true });
  await syncFolder(layout.sealift);
}
