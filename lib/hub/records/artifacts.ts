import { may, type Principal } from "../base/principal.ts";
import { seesStaged } from "../base/rights.ts";
import type { PreparedStatements, Queries } from "./port.ts";
import { selectWhere } from "./rows.ts";
import type { SealedSecret } from "./secrets.ts";
import { type BlobsTable, type Marks, type SealedDek, UNMARKED, type VersionsTable } from "./version-tables.ts";
import { marksOf } from "./versions.ts";

/** Artifact, or delta that leads to its version, with the facts that hosts get. */
export type SealedBlob = BlobsTable & { signature: string; signer_public_key: string } & Pick<
    VersionsTable,
    "content_sha256" | "published_by"
  > &
  Marks & { publisher: string | null; approver: string | null };

/** Query for a version's sealed blobs. The artifact sorts before the deltas; an index is not signed. */
const LOCATION = `SELECT b.*, v.content_sha256, v.published_by, p.name AS publisher, a.name AS approver,
  ${Object.keys(UNMARKED)
    .map((mark) => `v.${mark}`)
    .join(", ")}
  FROM versions v JOIN blobs b ON b.version_id = v.id
  LEFT JOIN api_keys p ON p.id = v.published_by LEFT JOIN api_keys a ON a.id = v.approved_by
  WHERE v.project_id = ? AND v.version = ? AND b.signature IS NOT NULL ORDER BY b.part, b.size_bytes, b.id`;
const AUTHORIZATION = `SELECT k.expires_at, k.revoked_at, (
    SELECT b.id FROM blobs b JOIN versions v ON v.id = b.version_id WHERE b.project_id = ? AND b.signature = ?
      AND (v.state IS NULL OR v.state <> 'staged' OR CAST(? AS integer) = 1 OR v.published_by = ?) ORDER BY b.id LIMIT 1
  ) AS blob_id
  FROM deployment_credentials c JOIN api_keys k ON k.id = c.key_id WHERE c.hash = ? AND c.project_id = ?`;
const SEALED_DEK = "SELECT kek_id, sealed_dek FROM sealed WHERE id = ?";

/**
 * Finds the artifact of a version and the deltas that lead to it, smallest first: one indexed statement.
 *
 * @param viewer key that acts on the project
 * @returns undefined for no such version, and for a staged one that the key may not see
 */
export async function findArtifact(
  statements: PreparedStatements,
  projectId: string,
  version: string,
  viewer: Principal,
): Promise<{ artifact: SealedBlob; deltas: SealedBlob[] } | undefined> {
  const [artifact, ...deltas] = (await statements.all(LOCATION, [projectId, version])) as unknown as SealedBlob[];
  if (artifact?.state === "staged" && !seesStaged(viewer, artifact.published_by)) return undefined;
  return artifact && { artifact, deltas };
}

/** Returns the facts of a project's version on the wire, without the places of its bytes. */
export function locatedFacts(artifact: SealedBlob, rootVersion: number | null) {
  const { is_yanked, yanked_reason, ...said } = marksOf(artifact);
  return {
    signature: artifact.signature,
    signer_public_key: artifact.signer_public_key,
    ...(rootVersion !== null && { root_version: rootVersion }),
    artifact_sha256: artifact.sha256,
    content_sha256: artifact.content_sha256!,
    size_bytes: Number(artifact.size_bytes),
    ...(is_yanked && { is_yanked, yanked_reason }),
    ...said,
    published_by: artifact.publisher,
    approved_by: artifact.approver,
  };
}

/** Facts on which `authorize` decides: the artifact or delta with this signature, and the credential with its key. */
export interface Authorization {
  /** Undefined without a credential, and when no artifact or delta that the key sees has the signature. */
  blobId: string | undefined;
  /** Undefined for a credential that is unknown, or of another project. */
  credential: { expiresAt: string | null; revokedAt: string | null } | undefined;
}

export async function findAuthorization(
  statements: PreparedStatements,
  { projectId, credentialHash, signature }: { projectId: string; credentialHash: string; signature: string },
  viewer: Principal,
): Promise<Authorization> {
  const sees = [may(viewer, "publish") ? 1 : 0, viewer.keyId];
  const row = (await statements.first(AUTHORIZATION, [projectId, signature, ...sees, credentialHash, projectId])) as
    { blob_id: string | null; expires_at: string | null; revoked_at: string | null } | undefined;
  if (row === undefined) return { blobId: undefined, credential: undefined };
  const credential = { expiresAt: row.expires_at, revokedAt: row.revoked_at };
  return { blobId: row.blob_id ?? undefined, credential };
}

/** Reads the current sealed DEK; a rotation may have replaced it since the last read. */
export async function readSealedDek(statements: PreparedStatements, blobId: string): Promise<SealedSecret | undefined> {
  const row = (await statements.first(SEALED_DEK, [blobId])) as SealedDek | undefined;
  return row && { kekId: row.kek_id, sealed: row.sealed_dek };
}

/**
 * Yields the public keys, base64, that signed a project's versions. Skips through an index, since `distinct` would read
 * all versions.
 */
export async function* signersOf(db: Queries, projectId: string): AsyncGenerator<string> {
  for (let last = ""; ;) {
    const next = await selectWhere(db, "blobs", { project_id: projectId })
      .select("signer_public_key")
      .where("signer_public_key", ">", last)
      .orderBy("signer_public_key")
      .limit(1)
      .executeTakeFirst();
    if (next === undefined) return;
    yield (last = next.signer_public_key!);
  }
}
