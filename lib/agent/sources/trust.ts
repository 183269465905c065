import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { equalBytes } from "../../artifact/signatures/ed25519.ts";
import { parsePublicKey } from "../../artifact/signatures/key-files.ts";
import { artifactError } from "../../contract/errors.ts";
import type { Layout, Target } from "../../releases/layout.ts";
import { writeFileAtomic } from "../../support/files.ts";

/** Which signer an operator accepts: a pinned key, or whoever comes first, remembered. */
export type SignerTrust = { pinned: Uint8Array } | { onFirstUse: true };

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
  target: Target,
  trust: SignerTrust,
  offered: Uint8Array,
): Promise<TrustDecision> {
  const shown = Buffer.from(offered).toString("hex");
  if ("pinned" in trust) {
    if (equalBytes(trust.pinned, offered)) return { publicKey: trust.pinned };
    throw artifactError("signer_untrusted", `The artifact was signed by ${shown}, which is not the pinned key.`, {
      hint: "Nothing was installed. If the publisher has a new key, have it confirmed by another way and pin it with --signer-public-key.",
    });
  }
  const file = layout.trust(target);
  const known = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (known === undefined) {
    const remember = async (): Promise<void> => {
      await mkdir(dirname(file), { recursive: true });
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
