import { rm } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import type { TargetName } from "../../contract/target.ts";
import { readJsonFile, writeJsonFile } from "../../releases/json-file.ts";
import type { Layout } from "../../releases/layout.ts";

const pin = z.object({ version: z.string(), reason: z.string().nullable(), at: z.string() });
/** The version that a watch keeps a target at, whatever is latest. */
export type Pin = z.infer<typeof pin>;

const fileOf = (layout: Layout, target: TargetName): string => join(layout.sealift, "state", `pin-${target}.json`);

export const readPin = async (layout: Layout, target: TargetName): Promise<Pin | null> =>
  (await readJsonFile(fileOf(layout, target), pin)) ?? null;

/** Holds from the watch's next check on, also in a watch that runs. */
export const writePin = (layout: Layout, target: TargetName, held: Pin): Promise<void> =>
  writeJsonFile(fileOf(layout, target), held);

export const removePin = (layout: Layout, target: TargetName): Promise<void> =>
  rm(fileOf(layout, target), { force: true });
