import { artifactError, SealiftError } from "../../contract/errors.ts";
import type { TargetName } from "../../contract/target.ts";
import type { Layout } from "../../releases/layout.ts";
import { isAdopted, type Release } from "../../releases/release.ts";
import { readFollowedRoot } from "../../releases/trust-roots.ts";
import { statsOf } from "../../support/files.ts";
import { type SignerTrust, trustedSigner } from "./trust.ts";

/** Signers of releases that are kept on this host, compared with those that it accepts now. */

/**
 * Returns why the signer of a kept release does not count now; undefined where it does.
 *
 * @param trust signers that this host accepts; a root counts in the version that this host has
 */
export async function keptSignerFault(
  layout: Layout,
  target: TargetName,
  trust: SignerTrust,
  release: Pick<Release, "version" | "identity" | "signer">,
): Promise<SealiftError | undefined> {
  const { version, signer } = release;
  if (isAdopted(release)) return untrusted("The adopted folders were installed by hand: nobody has signed them.");
  if (signer === undefined || signer === null) return untrusted(`The kept ${version} does not say who has signed it.`);
  try {
    await trustedSigner(layout, target, trust, Buffer.from(signer, "hex"));
    return undefined;
  } catch (error) {
    if (error instanceof SealiftError) return error;
    throw error;
  }
}

const untrusted = (message: string): SealiftError => artifactError("signer_untrusted", message);

/**
 * Returns the signers that count by what this host keeps of a target itself: the trust root that it follows, or the
 * signer of its first deployment. Undefined where it keeps neither.
 */
export async function trustOnDisk(layout: Layout, target: TargetName): Promise<SignerTrust | undefined> {
  if ((await readFollowedRoot(layout, target)) !== undefined) return { follow: { pinned: [], sources: [] } };
  return (await statsOf(layout.trust(target))) === undefined ? undefined : { onFirstUse: true };
}
