import { isEndorsed } from "../../artifact/statements/endorsement.ts";
import type { HubConnection } from "../../client/hub-connection.ts";
import { StatementsClient } from "../../client/statements.ts";
import { deploymentError, SealiftError } from "../../contract/errors.ts";
import type { StatementKind, StatementRecord, StatementsAnswer } from "../../contract/statements/statements.ts";
import type { Target } from "../../contract/target.ts";

/** Facts and statements that a hub has of a version, for rules to check. */
export interface Evidence extends StatementsAnswer {
  target: Target;
  /** Whether a rule holds by the digest of a project's artifact, and not by that of its tree. */
  restsOnArtifact?: boolean;
  /** Streams the bytes of a statement, compared with its digest. */
  read(statement: StatementRecord): AsyncIterable<Buffer>;
}

/**
 * Fetches what a hub has of a version. Returns undefined for a hub that keeps no statements, or has no such version.
 *
 * @throws AuthenticationError, ArtifactError
 */
export async function fetchEvidence(
  target: Target,
  version: string,
  hub: HubConnection,
): Promise<Evidence | undefined> {
  const client = new StatementsClient(target, hub);
  try {
    const answer = await client.list(version);
    return { ...answer, target, read: (statement) => client.read(version, statement) };
  } catch (error) {
    if (!(error instanceof SealiftError) || error.status !== 404) throw error;
    return undefined;
  }
}

/** Returns the message for a version of which the hub has nothing that a policy can check. */
export const noEvidence = (version: string): string =>
  `The hub tells nothing of ${version} that a policy could look at: it lacks the version, or is older than statements.`;

const decode = (base64: string): Buffer => Buffer.from(base64, "base64");

/**
 * Finds a statement endorsed by the version's signer; for an unsigned version, any that the hub has.
 *
 * @returns the reason, where no statement counts
 */
export function endorsedStatement(
  { target, version, artifact_sha256, content_sha256, signer_public_key: signer, statements }: Evidence,
  wanted: StatementKind,
): StatementRecord | { missing: string } {
  const found = statements.find(({ kind }) => kind === wanted);
  if (found === undefined) return { missing: `the version has no statement of the kind ${wanted}` };
  if (signer === null) return found;
  const { kind, sha256, signature, signer_public_key: by } = found;
  const endorsed = { target, version, artifact_sha256, content_sha256, kind, sha256 };
  if (by === signer && signature !== null && isEndorsed(endorsed, decode(signature), decode(signer))) return found;
  return { missing: `the version's signer does not stand for its statement of the kind ${wanted}` };
}

/** Facts of a fetched version, which must match those that the rules have checked. */
export interface FetchedFacts {
  /** Digest of a project's tree; null for a plugin or service. */
  contentSha256: string | null;
  /** Digest of the artifact. A project's is as the hub states it, but measured here where a rule rests on it. */
  artifactSha256: string | null;
  /** Public key of the trusted signer, hexadecimal; null where no signature was required. */
  signer: string | null;
}

/**
 * Requires that the fetched version is the one that the rules have checked: a lying hub could describe one version and
 * deliver another.
 *
 * @throws DeploymentError `policy_refused`
 */
export function requireSame(evidence: Evidence, { contentSha256, artifactSha256, signer }: FetchedFacts): void {
  const { version, content_sha256: tree, artifact_sha256: artifact, signer_public_key: key } = evidence;
  const isSameTree = contentSha256 === null || contentSha256 === tree;
  const needsArtifact = contentSha256 === null || evidence.restsOnArtifact === true;
  const isSameContent = isSameTree && (!needsArtifact || artifactSha256 === artifact);
  const isSameSigner = signer === null || (key !== null && decode(key).toString("hex") === signer);
  if (isSameContent && isSameSigner) return;
  throw deploymentError("policy_refused", `The bytes of ${version} are not those that its statements are about.`, {
    hint: "Nothing was installed. Ask the hub's operator.",
  });
}
