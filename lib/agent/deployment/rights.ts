import { hash } from "node:crypto";
import { join } from "node:path";
import { deploymentError } from "../../contract/errors.ts";
import { DESCRIPTOR_FILE } from "../../contract/files/manifest.ts";
import { targetOfName, targetText } from "../../contract/target.ts";
import { withoutConsent } from "../../releases/consent.ts";
import { rightsMessage, writeHeld } from "../../releases/holds.ts";
import type { Item } from "../../releases/layout.ts";
import { isAdopted, type Release } from "../../releases/release.ts";
import { YAML_LIMITS } from "../../support/documents/limits.ts";
import { readTextFile, statsOf } from "../../support/files.ts";
import type { Arriving } from "./compare-rights.ts";
import type { Deployed, Run } from "./run.ts";

/**
 * Returns the digests of the descriptors that a release installs, as a record of its requests whatever a plugin writes
 * later.
 */
export async function descriptorDigests(release: string, items: readonly Item[]): Promise<Record<string, string>> {
  const digests: Record<string, string> = {};
  for (const { section, id } of items) {
    const file = join(release, section, id, DESCRIPTOR_FILE);
    if (section !== "plugins" || (await statsOf(file))?.isFile() !== true) continue;
    const text = await readTextFile(file, YAML_LIMITS.maxBytes).catch(() => undefined);
    if (text !== undefined) digests[id] = hash("sha256", text);
  }
  return digests;
}

/**
 * Holds an upgrade that requests more than the running release has (docs/contract/host.md#rights), unless a person has
 * consented to exactly that. A first installation may request anything: the person who installs it has chosen it. It
 * still counts as the first when a failed run has adopted folders that were installed by hand.
 *
 * @throws DeploymentError `rights_held`
 */
export async function checkRights(
  run: Run<Deployed>,
  { version, identity }: { version: string; identity: string | null },
  previous: Release | undefined,
  { arriving, tree }: { arriving: Arriving; tree: string | undefined },
): Promise<void> {
  if (previous === undefined || isAdopted(previous)) return;
  const { layout, source, options, emit } = run;
  const { moreThan } = await import("./compare-rights.ts");
  const rights = await moreThan(previous, layout.release(source.target, previous.name), arriving, tree);
  if (rights.length === 0) return;
  const held = { version, identity, over: previous.name, running_version: previous.version, rights };
  const open = options.acceptRights ? [] : await withoutConsent(layout, source.target, held);
  emit({ event: "rights.more", version, rights, accepted: open.length === 0 });
  if (open.length === 0) return;
  if (run.isTrial !== true) await writeHeld(layout, source.target, "rights", { ...held, at: new Date().toISOString() });
  throw deploymentError("rights_held", rightsMessage(held), {
    faults: rights,
    hint: consentHint(targetText(targetOfName(source.target)), version),
  });
}

export const consentHint = (target: string, version: string): string =>
  `If that is right, run \`sealift watch consent ${target} --version ${version}\`, or deploy it with --accept-rights.`;
