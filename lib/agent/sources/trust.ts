import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { Ed25519Verifier, equalBytes, publicKeyOf } from "../../artifact/signatures/ed25519.ts";
import { parsePublicKey } from "../../artifact/signatures/key-files.ts";
import type { AuthorHeaders } from "../../client/install-headers.ts";
import { artifactError } from "../../contract/errors.ts";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import { authorSignature } from "../../contract/surfaces/marketplace.ts";
import type { TargetName } from "../../contract/target.ts";
import { makeDurableFolder } from "../../releases/durability.ts";
import type { Layout } from "../../releases/layout.ts";
import { ifThere, writeFileAtomic } from "../../support/files.ts";

/** Signers that an operator accepts: pinned keys, or the first one seen, which is remembered. */
export type SignerTrust = { pinned: readonly Uint8Array[] } | { onFirstUse: true };

export interface TrustDecision {
  publicKey: Uint8Array;
  /** Set when the key is new and is to be remembered once its artifact has been verified. */
  remember?: () => Promise<void>;
}

/**
 * Returns the key that must have signed an artifact. The offered key is accepted only if it is trusted.
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

/**
 * Returns a digest of the accepted signers' keys. Trust on first use accepts any key until one is remembered, and that
 * one from then on.
 */
export async function signersDigest(layout: Layout, target: TargetName, trust: SignerTrust): Promise<string> {
  const keys =
    "pinned" in trust
      ? trust.pinned.map((key) => Buffer.from(key).toString("hex")).toSorted()
      : ["first", (await ifThere(readFile(layout.trust(target), "utf8"))) ?? ""];
  return createHash("sha256").update(keys.join("\n")).digest("hex");
}

/** Check of bytes as they pass. */
export interface SignatureCheck {
  update(chunk: Uint8Array): void;
  /** Ends the check. @throws ArtifactError `signature_invalid` */
  verify(): void;
}

/** Checks bytes by an Ed25519 signature. @param signature base64 */
export function signatureCheck(version: string, signature: string, publicKey: Uint8Array): SignatureCheck {
  const verifier = new Ed25519Verifier(publicKey, Buffer.from(signature, "base64"));
  return {
    update: (chunk) => void verifier.update(chunk),
    verify() {
      if (verifier.verify()) return;
      throw artifactError("signature_invalid", `The Ed25519 signature of ${version} does not verify.`, {
        hint: "Nothing was kept. Ask the publisher and the hub's operator.",
      });
    },
  };
}

/** Check of an archive by its author's signature. */
export interface AuthorCheck extends SignatureCheck {
  /** Public key of the author, hexadecimal. */
  signer: string;
  remember?: TrustDecision["remember"];
}

/**
 * Returns the check of an archive from its headers, before its first byte
 * (docs/contract/marketplace.md#the-authors-signature).
 *
 * @throws ArtifactError `signature_missing`, `signature_invalid` for malformed headers, and as {@link trustedSigner}
 */
export async function authorCheck(
  { layout, target }: { layout: Layout; target: TargetName },
  trust: SignerTrust,
  version: string,
  { signature, signer }: AuthorHeaders,
): Promise<AuthorCheck> {
  if (signature === undefined && signer === undefined) {
    throw artifactError("signature_missing", `${version} is not signed by its author, and a signer is demanded.`, {
      hint: "Nothing was installed. Its author adds a signature with `sealift marketplace sign`.",
    });
  }
  const given = authorSignature.safeParse({ signature_ed25519: signature, signer_public_key: signer });
  if (!given.success) {
    const what = `${HEADERS.signatureEd25519} and ${HEADERS.signer} of ${version}`;
    throw artifactError("signature_invalid", `${what} are not the base64 of 64 and 32 bytes, each once.`, {
      hint: "Nothing was installed. Ask the hub's operator.",
    });
  }
  const offered = Buffer.from(given.data.signer_public_key, "base64");
  const { publicKey, remember } = await trustedSigner(layout, target, trust, offered);
  return {
    ...signatureCheck(version, given.data.signature_ed25519, publicKey),
    signer: offered.toString("hex"),
    ...(remember && { remember }),
  };
}
