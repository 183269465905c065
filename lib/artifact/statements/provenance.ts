import { type Bundle, bundleFromJSON, isBundleWithDsseEnvelope } from "@sigstore/bundle";
import { X509Certificate } from "@sigstore/core";
import * as z from "zod";
import { artifactError, type SealiftError } from "../../contract/errors.ts";
import { sha256Hex } from "../../contract/identifiers.ts";
import { STATEMENT_BYTES } from "../../contract/statements/statements.ts";
import type { DocumentLimits } from "../../support/documents/limits.ts";
import { safelyParsed } from "../../support/documents/safe-parse.ts";
import { parseSignedJson } from "../../support/documents/signed-json.ts";
import { printableJson } from "../../support/printable.ts";

/** Media type of the envelope's payload, an in-toto Statement. */
const PAYLOAD_TYPE = "application/vnd.in-toto+json";
export const PROVENANCE_TYPE = "https://slsa.dev/provenance/v1";

const LIMITS: DocumentLimits = {
  maxBytes: STATEMENT_BYTES.provenance,
  maxDepth: 32,
  maxNodes: 50_000,
  maxMarks: Infinity,
};
/** Most subjects of one statement: a build may have many artifacts. */
const MAX_SUBJECTS = 1024;

const inTotoStatement = z.looseObject({
  _type: z.literal("https://in-toto.io/Statement/v1"),
  subject: z
    .array(z.looseObject({ digest: z.record(z.string(), z.string()) }))
    .min(1)
    .max(MAX_SUBJECTS),
  predicateType: z.literal(PROVENANCE_TYPE),
  predicate: z.looseObject({ buildDefinition: z.looseObject({}), runDetails: z.looseObject({}) }),
});

/** OIDs of extensions in Fulcio's certificates, each a DER text. */
const ISSUER_OID = "1.3.6.1.4.1.57264.1.8";
const REPOSITORY_OID = "1.3.6.1.4.1.57264.1.12";

/** Identity that a certificate claims. It proves nothing before the chain is verified. */
export interface CertificateIdentity {
  /** Subject alternative name: the workflow, as a URL. */
  subject: string | null;
  /** Issuer of the workflow's identity token. */
  issuer: string | null;
  /** URL of the source repository. */
  repository: string | null;
}

/** Well-formed Sigstore bundle of SLSA provenance, with signature and certificate not verified. */
export interface Provenance {
  bundle: Bundle;
  predicateType: string;
  /** SHA-256 digests that it is about. */
  subjects: readonly string[];
  /** Claimed identity; undefined for a bundle signed with a plain key. */
  claimed: CertificateIdentity | undefined;
}

const invalid = (why: string, cause?: unknown): SealiftError =>
  artifactError("statement_invalid", `The provenance is not usable: ${why}.`, cause === undefined ? {} : { cause });

/** Parses a bundle. @throws ArtifactError `statement_invalid` for bytes that are not a bundle of SLSA provenance v1 */
export function readProvenance(bytes: Uint8Array): Provenance {
  const bundle = readBundle(bytes);
  if (!isBundleWithDsseEnvelope(bundle)) throw invalid("its bundle has no DSSE envelope");
  const { payload, payloadType, signatures } = bundle.content.dsseEnvelope;
  if (payloadType !== PAYLOAD_TYPE)
    throw invalid(`its payload is of the type ${printableJson(payloadType.slice(0, 100))}, not ${PAYLOAD_TYPE}`);
  if (signatures.length !== 1) throw invalid(`its envelope has ${signatures.length} signatures, and one is needed`);
  const statement = safelyParsed(inTotoStatement, parsed(payload, "its payload"));
  if (!statement.success) {
    const { path, message } = statement.error.issues[0]!;
    throw invalid(`its statement has a fault at ${path.join(".") || "its root"}: ${message}`);
  }
  const subjects = statement.data.subject.map(({ digest }) => sha256Hex.safeParse(digest["sha256"]).data);
  return {
    bundle,
    predicateType: statement.data.predicateType,
    subjects: subjects.filter((digest) => digest !== undefined),
    claimed: certificateOf(bundle),
  };
}

function parsed(bytes: Uint8Array, what: string): unknown {
  try {
    return parseSignedJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes), LIMITS);
  } catch (error) {
    throw invalid(`${what} is not JSON within limits: ${(error as Error).message}`, error);
  }
}

function readBundle(bytes: Uint8Array): Bundle {
  const json = parsed(bytes, "it");
  try {
    return bundleFromJSON(json);
  } catch (error) {
    throw invalid(`it is not a Sigstore bundle (${(error as Error).message})`, error);
  }
}

function certificateOf({ verificationMaterial }: Bundle): CertificateIdentity | undefined {
  const { content } = verificationMaterial;
  if (content.$case === "publicKey") return undefined;
  const { rawBytes } =
    content.$case === "certificate" ? content.certificate : content.x509CertificateChain.certificates[0]!;
  try {
    return identityOf(X509Certificate.parse(Buffer.from(rawBytes)));
  } catch (error) {
    throw invalid("its certificate cannot be read", error);
  }
}

/** Returns the identity of the workflow that signed, as its certificate names it. */
function identityOf(certificate: X509Certificate): CertificateIdentity {
  const text = (oid: string): string | null =>
    certificate.extension(oid)?.valueObj.subs[0]?.value.toString("utf8") ?? null;
  return {
    subject: certificate.subjectAltName ?? null,
    issuer: text(ISSUER_OID),
    repository: text(REPOSITORY_OID),
  };
}
