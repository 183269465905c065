import * as z from "zod";
import { base64Of, sha256Hex, timestamp } from "../identifiers.ts";
import { later } from "../later.ts";
import { type Target, targetText } from "../target.ts";

/** Statements of a version on the wire (docs/contract/statements.md). */

/** Kinds of statements, each with its largest size in bytes. A version has at most one of each. */
export const STATEMENT_BYTES = {
  provenance: 1024 * 1024,
  sbom: 16 * 1024 * 1024,
  urgent: 4096,
} as const;

export type StatementKind = keyof typeof STATEMENT_BYTES;
export const STATEMENT_KINDS = Object.keys(STATEMENT_BYTES) as [StatementKind, ...StatementKind[]];

/** File part of a form with a statement. */
export const STATEMENT_PART = {
  name: "statement",
  filename: "statement.json",
  contentType: "application/octet-stream",
} as const;

/** Fields of a form with a statement. The signature is one of {@link endorsement}. */
export const statementFields = later(() =>
  z.object({
    kind: z.enum(STATEMENT_KINDS),
    signature: base64Of(64).optional(),
    signer_public_key: base64Of(32).optional(),
  }),
);
export type StatementFields = z.infer<typeof statementFields>;

/** Content of a statement of the kind `urgent`: hosts whose policy waits need not wait for the version. */
export const urgentStatement = later(() =>
  z.strictObject({
    reason: z
      .string()
      .min(1)
      .max(1000)
      .regex(/^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+$/u, "must be printable"),
  }),
);

export const statementRecord = later(() =>
  z.object({
    kind: z.enum(STATEMENT_KINDS),
    /** `https://slsa.dev/provenance/v1`, or an SBOM's format: `https://cyclonedx.org/bom/1.6`; null for `urgent`. */
    predicate_type: z.string().nullable(),
    sha256: sha256Hex,
    size_bytes: z.int(),
    /**
     * Ed25519 signature of the version's signer over the endorsement; null, like the key, for a version without a
     * signer.
     */
    signature: z.string().nullable(),
    signer_public_key: z.string().nullable(),
    /** Workflow named by a provenance bundle's certificate, which the hub has not verified; otherwise null. */
    claimed_by: z.string().nullable(),
    /** Issuer of that workflow's identity, from the certificate; otherwise null. */
    claimed_issuer: z.string().nullable(),
    created_at: timestamp,
  }),
);
export type StatementRecord = z.infer<typeof statementRecord>;

/** Statements of a version, with the digests of their subject. */
export const statementsAnswer = later(() =>
  z.object({
    version: z.string(),
    created_at: timestamp,
    /** Time when the version was approved; null for none. */
    approved_at: timestamp.nullable(),
    /** Key that has signed the version, base64; null for a plugin or service without its author's signature. */
    signer_public_key: z.string().nullable(),
    artifact_sha256: sha256Hex,
    /** Digest of a project's tree; null for a plugin or service. */
    content_sha256: sha256Hex.nullable(),
    statements: z.array(statementRecord),
  }),
);
export type StatementsAnswer = z.infer<typeof statementsAnswer>;

/** Facts that an endorsement covers. */
export interface Endorsed
  extends
    Pick<StatementRecord, "kind" | "sha256">,
    Pick<StatementsAnswer, "version" | "artifact_sha256" | "content_sha256"> {
  target: Target;
}

/** Media type of an endorsement, which its DSSE signature covers. */
export const ENDORSEMENT_TYPE = "application/vnd.sealift.statement+json";

/** Returns the canonical text of an endorsement: JSON with these keys in this order, and no whitespace. */
export const endorsement = ({ target, version, artifact_sha256, content_sha256, kind, sha256 }: Endorsed): string =>
  JSON.stringify({ target: targetText(target), version, artifact_sha256, content_sha256, kind, sha256 });
