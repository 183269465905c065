import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { equalBytes, publicKeyOf } from "../../artifact/signatures/ed25519.ts";
import { parsePublicKey } from "../../artifact/signatures/key-files.ts";
import { artifactError } from "../../contract/errors.ts";
import type { TargetName } from "../../contract/target.ts";
import { makeDurableFolder } from "../../releases/durability.ts";
import type { Layout } from "../../releases/layout.ts";
import { ifThere, writeFileAtomic } from "../../support/files.ts";

/** The signers that an operator accepts: pinned keys, or the first one that comes, remembered. */
export type SignerTrust = { pinned: readonly Uint8Array[] } | { onFirstUse: true };

export interface TrustDecision {
  publicKey: Uint8Array;
  /** Set when the key is new and is to be remembered once its artifact has been verified. */
  remember?: () => Promise<void>;
}

/**
 * The key that an artifact has to be signed with. The offered key is believed only when it is the trusted one.
 *
 * @throws ArtifactError `signer_untrusted`, `trust_changed`
 */
export async function trustedSigner(
  layout: Layout,
  target: TargetName,
  trust: SignerTrust,
  offered: Uint8Array,
): Promise<TrustDecision> {
  const shown = Buffer.from(offered).toString("hex");
  if ("pinned" in trust) {
    const pinned = trust.pinned.find((key) => equalBytes(key, offered));
    if (pinned !== undefined) return { publicKey: pinned };
    if (trust.pinned.some((key) => equalBytes(publicKeyOf(key), offered))) {
      throw artifactError("signer_untrusted", "The artifact was signed with the pinned public key as a private one.", {
        hint: "Nothing was installed. Anybody can sign like that: tell the publisher to sign with signer.key, not with signer.pub.",
      });
    }
    throw artifactError(
      "signer_untrusted",
      `The artifact was signed by ${shown}, which is ${trust.pinned.length === 1 ? "not the pinned key" : `none of the ${trust.pinned.length} pinned keys`}.`,
      {
        hint: "Nothing was installed. If the publisher has a new key, have it confirmed by another way and pin it with --signer-public-key.",
      },
    );
  }
  const file = layout.trust(target);
  const known = await ifThere(readFile(file));
  if (known === undefined) {
    const remember = async (): Promise<void> => {
      await makeDurableFolder(layout, dirname(file));
      await writeFileAtomic(file, `${shown}\n`);
    };
    return { publicKey: offered, remember };
  }
  const trusted = parsePublicKey(known, file);
  if (equalBytes(trusted, offered)) return { publicKey: trusted };
  throw artifactError("trust_changed", `The artifact was signed by ${shown}, but ${file} holds another key.`, {
    hint: "Nothing was installed. If the publisher has a new key, have it confirmed by another way and remove that file.",
  });
}
