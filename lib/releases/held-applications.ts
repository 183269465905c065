import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { APPLICATIONS_FILE } from "../contract/files/application-names.ts";
import type { TargetName } from "../contract/target.ts";
import { ifThere, readFileUpTo } from "../support/files.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import type { Layout } from "./layout.ts";

const heldApplications = z.object({
  version: z.string(),
  /** Identity that distinguishes two artifacts of one version. */
  identity: z.string().nullable(),
  /** Missing permission of the operator, or what the host lacks. */
  message: z.string(),
  /** Digest of the operator's file that did not allow it; null without one. */
  grants: z.string().nullable(),
  /** Time when the version is looked at again even if that file is the same; null for never. */
  again: z.string().nullable(),
  at: z.string(),
});
/** Version with an application that this host does not allow. */
export type HeldApplications = Readonly<z.infer<typeof heldApplications>>;

export const heldApplicationsFile = (layout: Layout, target: TargetName): string =>
  join(layout.sealift, "state", `apps-${target}.json`);

const MAX_GRANTS_BYTES = 1024 * 1024;

/** Returns a text that changes with the operator's `applications.yaml`; null where it cannot be read. */
export async function grantsDigest({ root }: Layout): Promise<string | null> {
  const bytes = await ifThere(readFileUpTo(join(root, APPLICATIONS_FILE), MAX_GRANTS_BYTES)).catch(() => undefined);
  return bytes === undefined ? null : createHash("sha256").update(bytes).digest("hex");
}

/** Returns the version that waits for the operator, as it was seen last, whether or not it still does. */
export const readHeldApplications = (layout: Layout, target: TargetName): Promise<HeldApplications | undefined> =>
  readJsonFile(heldApplicationsFile(layout, target), heldApplications);

/** Returns the version that still waits: the operator's file is the same, and it is not to be looked at again yet. */
export async function stillHeldApplications(
  layout: Layout,
  target: TargetName,
  now: number,
): Promise<HeldApplications | undefined> {
  const held = await readHeldApplications(layout, target);
  // A time in the future does not count: the clock was set back since.
  if (held === undefined || Date.parse(held.at) > now || (held.again !== null && Date.parse(held.again) <= now))
    return undefined;
  return held.grants === (await grantsDigest(layout)) ? held : undefined;
}

export const writeHeldApplications = (layout: Layout, target: TargetName, held: HeldApplications): Promise<void> =>
  writeJsonFile(heldApplicationsFile(layout, target), held);

export const forgetHeldApplications = (layout: Layout, target: TargetName): Promise<void> =>
  rm(heldApplicationsFile(layout, target), { force: true });
