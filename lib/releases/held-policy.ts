import { rm } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import type { TargetName } from "../contract/target.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import type { Layout } from "./layout.ts";

const heldPolicy = z.object({
  version: z.string(),
  /** Identity that distinguishes two artifacts of one version. */
  identity: z.string().nullable(),
  /** Rule that does not hold, and why. */
  message: z.string(),
  /** Time when the version is checked again. */
  again: z.string(),
  at: z.string(),
});
/** Version that does not meet the host's policy. */
export type HeldPolicy = Readonly<z.infer<typeof heldPolicy>>;

export const heldPolicyFile = (layout: Layout, target: TargetName): string =>
  join(layout.sealift, "state", `policy-${target}.json`);

/** Returns the version that does not meet the policy, as far as that was seen last. */
export const readHeldPolicy = (layout: Layout, target: TargetName): Promise<HeldPolicy | undefined> =>
  readJsonFile(heldPolicyFile(layout, target), heldPolicy);

export const writeHeldPolicy = (layout: Layout, target: TargetName, held: HeldPolicy): Promise<void> =>
  writeJsonFile(heldPolicyFile(layout, target), held);

export const forgetHeldPolicy = (layout: Layout, target: TargetName): Promise<void> =>
  rm(heldPolicyFile(layout, target), { force: true });
