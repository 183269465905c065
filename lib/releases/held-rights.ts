import { rm } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import type { TargetName } from "../contract/target.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import type { Layout } from "./layout.ts";

const heldRights = z.object({
  version: z.string(),
  /** Identity that distinguishes two artifacts of one version. */
  identity: z.string().nullable(),
  /** Name of the release that ran when the rights were compared; for another one they are void. */
  over: z.string(),
  running_version: z.string(),
  /** Rights that the version requests beyond the running release, one line each. */
  rights: z.array(z.string()),
  at: z.string(),
});
/** Version that waits until a person consents to its rights. */
export type HeldRights = Readonly<z.infer<typeof heldRights>>;

/** Returns the file of the version that waits for consent. */
export const heldFile = (layout: Layout, target: TargetName): string =>
  join(layout.sealift, "state", `rights-${target}.json`);

/**
 * Returns the file of a consent, written only by a person's command: apart from the agent's file, so that neither
 * overwrites the other.
 */
const consentFile = (layout: Layout, target: TargetName): string =>
  join(layout.sealift, "state", `consent-${target}.json`);

/** Returns the version that waits for consent. @param running name of the release that runs */
export async function readHeldRights(
  layout: Layout,
  target: TargetName,
  running: string | undefined,
): Promise<HeldRights | undefined> {
  const held = await readJsonFile(heldFile(layout, target), heldRights);
  return held?.over === running ? held : undefined;
}

export const writeHeldRights = (layout: Layout, target: TargetName, held: HeldRights): Promise<void> =>
  writeJsonFile(heldFile(layout, target), held);

/** Records a person's consent to exactly the rights in `held`, valid while the same release runs. */
export const consentTo = (layout: Layout, target: TargetName, held: HeldRights): Promise<void> =>
  writeJsonFile(consentFile(layout, target), { ...held, at: new Date().toISOString() } satisfies HeldRights);

/** Returns those of `rights` that no person has consented to. @param running name of the release that runs */
export async function withoutConsent(
  layout: Layout,
  target: TargetName,
  { over, rights }: Pick<HeldRights, "over" | "rights">,
): Promise<string[]> {
  const consent = await readJsonFile(consentFile(layout, target), heldRights);
  const given = new Set(consent?.over === over ? consent.rights : []);
  return rights.filter((right) => !given.has(right));
}

/** Removes both files: another release runs now. */
export async function forgetRights(layout: Layout, target: TargetName): Promise<void> {
  for (const file of [heldFile(layout, target), consentFile(layout, target)]) await rm(file, { force: true });
}
