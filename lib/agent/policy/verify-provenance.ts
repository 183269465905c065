import { TrustedRoot } from "@sigstore/protobuf-specs";
import { toSignedEntity, toTrustMaterial, Verifier } from "@sigstore/verify";
import { type CertificateIdentity, readProvenance } from "../../artifact/statements/provenance.ts";
import { usageError } from "../../contract/errors.ts";
import { parseJson } from "../../support/documents/limits.ts";

/** Provenance whose signature, certificate and time have been verified. */
export interface VerifiedProvenance {
  /** SHA-256 digests that it is about. */
  subjects: readonly string[];
  /** Workflow that has signed it. */
  signer: CertificateIdentity;
}

/** Reads the trusted root of a policy, else that of the public Sigstore. @throws UsageError `config_invalid` */
async function readRoot(given: string | undefined): Promise<TrustedRoot> {
  try {
    const json =
      given === undefined
        ? (await import("./sigstore-root.json", { with: { type: "json" } })).default
        : parseJson(given);
    const root = TrustedRoot.fromJSON(json);
    if (root.certificateAuthorities.length === 0) throw new Error("it names no certificate authority");
    return root;
  } catch (error) {
    throw usageError("config_invalid", `The trusted root is not usable: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}

/**
 * Verifies a bundle against a trusted root, offline. The certificate must be issued by an authority of the root, and a
 * log or timestamp authority of the root must attest its time. A log entry is required where the root names any log.
 *
 * @param trustedRoot JSON; undefined for the built-in root
 * @throws ArtifactError `statement_invalid`, errors of the verifier, UsageError `config_invalid` for the root
 */
export async function verifyProvenance(
  bytes: Uint8Array,
  trustedRoot: string | undefined,
): Promise<VerifiedProvenance> {
  const { bundle, subjects, claimed } = readProvenance(bytes);
  const root = await readRoot(trustedRoot);
  const verifier = new Verifier(toTrustMaterial(root), {
    tlogThreshold: Math.min(1, root.tlogs.length),
    ctlogThreshold: Math.min(1, root.ctlogs.length),
    timestampThreshold: 1,
  });
  verifier.verify(toSignedEntity(bundle));
  if (claimed === undefined) throw new Error("it was signed by a key without a certificate");
  return { subjects, signer: claimed };
}
