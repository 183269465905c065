import { rm } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import type { TargetName } from "../contract/target.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import type { Layout } from "./layout.ts";

const heldRights = z.object({
  version: z.string(),
  /** Tells two artifacts of one version apart. */
  identity: z.string().nullable(),
  /** Name of the release that ran when the rights were compared: of another one they say nothing. */
  over: z.string(),
  running_version: z.string(),
  /** The rights that the version asks for and the running release does not, one line each. */
  rights: z.array(z.string()),
  at: z.string(),
});
/** A version that waits until a person consents to its rights. */
export type HeldRights = Readonly<z.infer<typeof heldRights>>;

/** The file of the version that waits for consent. */
export const heldFile = (layout: Layout, target: TargetName): string =>
  join(layout.sealift, "state", `rights-${target}.json`);

/** Written by a person's command only: beside the agent's file, so that neither takes the other's words away. */
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

/** Keeps a person's consent to exactly the rights that `held` lists, as long as the same release runs. */
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

/** Forgets both: another release runs now. */
export async function forgetRights(layout: Layout, target: TargetName): Promise<void> {
  for (const file of [heldFile(layout, target), consentFile(layout, target)]) await rm(file, { force: true });
}
