import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { Ed25519Verifier, equalBytes, publicKeyOf } from "../../artifact/signatures/ed25519.ts";
import { parsePublicKey } from "../../artifact/signatures/key-files.ts";
import type { TrustRoot } from "../../artifact/trust/root.ts";
import type { HubConnection } from "../../client/hub-connection.ts";
import type { AuthorHeaders } from "../../client/install-headers.ts";
import { hubRoots, mirroredRoots, type RootOrigin, webRoots } from "../../client/trust-roots.ts";
import { artifactError } from "../../contract/errors.ts";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import { authorSignature } from "../../contract/surfaces/marketplace.ts";
import { type Target, type TargetName, targetName } from "../../contract/target.ts";
import { makeDurableFolder } from "../../releases/durability.ts";
import type { Layout } from "../../releases/layout.ts";
import { readFollowedRoot } from "../../releases/trust-roots.ts";
import { ifThere, writeFileAtomic } from "../../support/files.ts";
import type { ResolveContext } from "./source.ts";
import { followRoot, MOST_STEPS, type RootChoice } from "./trust-root.ts";

/** Signers that an operator accepts: pinned keys, the first one seen, which is remembered, or those of a trust root. */
export type SignerTrust = KnownTrust | { follow: RootChoice };

/** Signers as they are known now. */
export type KnownTrust =
  | {
      pinned: readonly Uint8Array[];
      /** Version of the trust root that names them; undefined for pins. */
      root?: Pick<TrustRoot, "id" | "version"> & {
        /** Newest version that the hub names, where this host has not followed so far. */
        ahead?: number;
      };
    }
  | { onFirstUse: true };

const namedBy = ({ id, version, signers }: TrustRoot, named = 0): KnownTrust => ({
  pinned: signers.map((key) => Buffer.from(key, "hex")),
  root: { id, version, ...(named > version && { ahead: named }) },
});

/** Returns the signers that count now: of a trust root those of the version that this host has. */
async function knownTrust(layout: Layout, target: TargetName, trust: SignerTrust): Promise<KnownTrust> {
  if (!("follow" in trust)) return trust;
  const root = await readFollowedRoot(layout, target);
  if (root !== undefined) return namedBy(root);
  return { pinned: trust.follow.pinned };
}

/**
 * Returns a function that follows the trust root of a target, if one is followed, and returns the signers that count
 * from then on.
 *
 * @param hub that names the target's signers
 * @param brought versions of the root that came with a kit: then no hub and no other place is asked
 */
export const trustOf =
  (trust: SignerTrust, target: Target, hub: HubConnection, brought?: RootOrigin) =>
  async (
    { layout, emit, signal, isTrial = false }: ResolveContext,
    named: number | undefined,
    asksOthers: boolean,
  ): Promise<KnownTrust> => {
    if (!("follow" in trust)) return trust;
    const connection = { ...hub, signal };
    const others =
      asksOthers && brought === undefined
        ? [
            ...trust.follow.sources.map((url) => webRoots(url, connection)),
            ...(hub.mirrors ?? []).map((url) => mirroredRoots(url, connection)),
          ]
        : [];
    const root = await followRoot(trust.follow, {
      ...{
        layout,
        target: targetName(target),
        emit,
        named,
        keeps: !isTrial,
        hub: brought ?? hubRoots(target, connection),
        others,
      },
    });
    return root === undefined ? { pinned: trust.follow.pinned } : namedBy(root, named);
  };

/** Returns what to do where a root does not name a signer. */
const adviceOn = ({ version, ahead }: { version: number; ahead?: number }): string =>
  ahead === undefined
    ? "`sealift trust change --add-signer` makes the next version of the root."
    : `The hub names version ${ahead} of the root, and this host has version ${version}: run it again, since each run follows ${MOST_STEPS} versions. Where it stays at ${version}, the run's warnings say why.`;

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
  const known = await knownTrust(layout, target, trust);
  if ("pinned" in known) {
    const { pinned: keys, root } = known;
    const pinned = keys.find((key) => equalBytes(key, offered));
    if (pinned !== undefined) return { publicKey: pinned };
    if (keys.some((key) => equalBytes(publicKeyOf(key), offered))) {
      throw artifactError("signer_untrusted", "The artifact was signed with the pinned public key as a private one.", {
        hint: "Nothing was installed. Anybody can sign like that: tell the publisher to sign with signer.key, not with signer.pub.",
      });
    }
    if (root !== undefined)
      throw artifactError(
        "signer_untrusted",
        `The artifact was signed by ${shown}, which version ${root.version} of the trust root ${root.id} does not name.`,
        { hint: `Nothing was installed. ${adviceOn(root)}` },
      );
    throw artifactError(
      "signer_untrusted",
      `The artifact was signed by ${shown}, which is ${keys.length === 1 ? "not the pinned key" : `none of the ${keys.length} pinned keys`}.`,
      {
        hint: "Nothing was installed. If the publisher has a new key, have it confirmed by another way and pin it with --signer-public-key.",
      },
    );
  }
  const file = layout.trust(target);
  const first = await ifThere(readFile(file));
  if (first === undefined) {
    const remember = async (): Promise<void> => {
      await makeDurableFolder(layout, dirname(file));
      await writeFileAtomic(file, `${shown}\n`);
    };
    return { publicKey: offered, remember };
  }
  const trusted = parsePublicKey(first, file);
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
  const known = await knownTrust(layout, target, trust);
  const keys =
    "pinned" in known
      ? known.pinned.map((key) => Buffer.from(key).toString("hex")).toSorted()
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
