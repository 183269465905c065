import { rm } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { later } from "../contract/later.ts";
import type { TargetName } from "../contract/target.ts";
import type { Held } from "./holds.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import type { Layout } from "./layout.ts";

const consented = later(() => z.object({ over: z.string(), rights: z.array(z.string()) }));

/**
 * Returns the file of a consent, written only by a person's command: apart from the agent's file, so that neither
 * overwrites the other.
 */
const consentFile = (layout: Layout, target: TargetName): string =>
  join(layout.sealift, "state", `consent-${target}.json`);

/** Records a person's consent to exactly the rights in `held`, valid while the same release runs. */
export const consentTo = (layout: Layout, target: TargetName, held: Held<"rights">): Promise<void> =>
  writeJsonFile(consentFile(layout, target), { ...held, at: new Date().toISOString() } satisfies Held<"rights">);

/** Returns those of `rights` that no person has consented to. @param held with the name of the release that runs */
export async function withoutConsent(
  layout: Layout,
  target: TargetName,
  { over, rights }: Pick<Held<"rights">, "over" | "rights">,
): Promise<string[]> {
  const consent = await readJsonFile(consentFile(layout, target), consented);
  const given = new Set(consent?.over === over ? consent.rights : []);
  return rights.filter((right) => !given.has(right));
}

/** Removes a consent: another release runs now. */
export const forgetConsent = (layout: Layout, target: TargetName): Promise<void> =>
  rm(consentFile(layout, target), { force: true });
