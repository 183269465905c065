import type { Selectable } from "kysely";
import { latestOf } from "../../contract/versions.ts";
import { type Deletion, recordDeletion, requireNotDeleted } from "./deleted-versions.ts";
import { inTransaction, type PageRange, type Queries, type Statements, type Transacted } from "./port.ts";
import { lockProject } from "./projects.ts";
import { requireRoom } from "./quotas.ts";
import { deleteWhere, newestWhere, selectWhere, updateWhere } from "./rows.ts";
import type { ArtifactsTable } from "./schema.ts";
import type { Sealed } from "./secrets.ts";

export type Artifact = Selectable<ArtifactsTable>;

const LOCATION = "SELECT * FROM artifacts WHERE project_id = ? AND version = ?";
const AUTHORIZATION = `SELECT k.expires_at, k.revoked_at, (
    SELECT id FROM artifacts WHERE project_id = ? AND signature = ?
    UNION ALL SELECT id FROM deltas WHERE project_id = ? AND signature = ? LIMIT 1
  ) AS artifact_id
  FROM deployment_credentials c JOIN api_keys k ON k.id = c.key_id WHERE c.hash = ? AND c.project_id = ?`;
const SEALED_DEK =
  "SELECT kek_id, sealed_dek FROM artifacts WHERE id = ? UNION ALL SELECT kek_id, sealed_dek FROM deltas WHERE id = ?";

/** The artifact of a version: one indexed read. */
export async function findArtifact(
  statements: Statements,
  projectId: string,
  version: string,
): Promise<Artifact | undefined> {
  return (await statements.first(LOCATION, [projectId, version])) as Artifact | undefined;
}

/** The facts that `authorize` decides on: the artifact or delta of this signature, and the credential with its key. */
export interface Authorization {
  /** Undefined without a credential, and when no artifact or delta of the project has the signature. */
  artifactId: string | undefined;
  /** Undefined for a credential that is unknown, or of another project. */
  credential: { expiresAt: string | null; revokedAt: string | null } | undefined;
}

export async function findAuthorization(
  statements: Statements,
  { projectId, credentialHash, signature }: { projectId: string; credentialHash: string; signature: string },
): Promise<Authorization> {
  const row = (await statements.first(AUTHORIZATION, [
    ...[projectId, signature, projectId, signature],
    ...[credentialHash, projectId],
  ])) as { artifact_id: string | null; expires_at: string | null; revoked_at: string | null } | undefined;
  if (row === undefined) return { artifactId: undefined, credential: undefined };
  const credential = { expiresAt: row.expires_at, revokedAt: row.revoked_at };
  return { artifactId: row.artifact_id ?? undefined, credential };
}

/** The sealed DEK as it stands now; a rotation may have replaced it since the last read. */
export async function readSealedDek(statements: Statements, artifactId: string): Promise<Sealed | undefined> {
  const row = (await statements.first(SEALED_DEK, [artifactId, artifactId])) as
    Pick<Artifact, "kek_id" | "sealed_dek"> | undefined;
  return row && { kekId: row.kek_id, sealed: row.sealed_dek };
}

export function findArtifactById(db: Queries, id: string): Promise<Artifact | undefined> {
  return selectWhere(db, "artifacts", { id }).selectAll().executeTakeFirst();
}

/**
 * Makes an artifact visible and recomputes the project's latest version, under the lock of the project's row.
 *
 * @param lost id of an artifact whose bytes are gone: the new one takes its place
 * @returns the artifact that has this version: the new one, or an earlier one
 */
export async function insertArtifact(transaction: Transacted, artifact: Artifact, lost?: string): Promise<Artifact> {
  const { project_id: projectId, version } = artifact;
  const { latest_version: latestVersion } = await lockProject(transaction, projectId);
  const find = (wanted: string) =>
    selectWhere(transaction, "artifacts", { project_id: projectId, version: wanted }).selectAll().executeTakeFirst();
  const existing = await find(version);
  if (existing !== undefined && existing.id !== lost) return existing;
  await requireNotDeleted(transaction, projectId, version);
  if (lost !== undefined) await deleteWhere(transaction, "artifacts", { id: lost }).execute();
  await requireRoom(transaction, projectId, { bytes: artifact.size_bytes, versions: 1 });
  // A version that is published again is as yanked as it was.
  const stored = { ...artifact, is_yanked: existing?.is_yanked ?? 0, yanked_reason: existing?.yanked_reason ?? null };
  await transaction.insertInto("artifacts").values(stored).execute();
  // Only a lost version takes one away, and that has come back: the best of all is the best so far, or the new one.
  const best = latestVersion === null ? undefined : await find(latestVersion);
  const candidates = [best, stored].filter((each) => each !== undefined).map(versionFacts);
  await setLatest(transaction, projectId, latestOf(candidates)?.version ?? null);
  return stored;
}

const versionFacts = ({ version, created_at, is_yanked }: Pick<Artifact, "version" | "created_at" | "is_yanked">) => ({
  version,
  created_at,
  is_yanked: is_yanked !== 0,
});

async function setLatest(transaction: Transacted, projectId: string, version: string | null): Promise<void> {
  await updateWhere(transaction, "projects", { id: projectId }).set({ latest_version: version }).execute();
}

/** Recomputes the latest version of a project, after a change that may have taken it away. */
export async function renewLatest(transaction: Transacted, projectId: string): Promise<void> {
  const versions = await selectWhere(transaction, "artifacts", { project_id: projectId })
    .select(["version", "created_at", "is_yanked"])
    .execute();
  await setLatest(transaction, projectId, latestOf(versions.map(versionFacts))?.version ?? null);
}

/** Yanks a version or takes that back. @returns undefined when there is no such version */
export function yankArtifact(
  db: Queries,
  {
    projectId,
    version,
    yanked,
    reason,
  }: { projectId: string; version: string; yanked: boolean; reason: string | null },
): Promise<Artifact | undefined> {
  return inTransaction(db, async (transaction) => {
    await lockProject(transaction, projectId);
    const artifact = await updateWhere(transaction, "artifacts", { project_id: projectId, version })
      .set({ is_yanked: yanked ? 1 : 0, yanked_reason: reason })
      .returningAll()
      .executeTakeFirst();
    await renewLatest(transaction, projectId);
    return artifact;
  });
}

/**
 * Deletes a version with its deltas and its index.
 *
 * @returns the ids of the blobs that nobody needs now; undefined without one
 */
export function deleteArtifact(db: Queries, deletion: Deletion): Promise<string[] | undefined> {
  return inTransaction(db, async (transaction) => {
    await lockProject(transaction, deletion.projectId);
    const blobs = await removeArtifact(transaction, deletion);
    if (blobs !== undefined) await renewLatest(transaction, deletion.projectId);
    return blobs;
  });
}

/** The base64 keys that signed a project's versions, by an index: `distinct` would read all versions. */
export async function* signersOf(db: Queries, projectId: string): AsyncGenerator<string> {
  for (let last = ""; ;) {
    const next = await selectWhere(db, "artifacts", { project_id: projectId })
      .select("signer_public_key")
      .where("signer_public_key", ">", last)
      .orderBy("signer_public_key")
      .limit(1)
      .executeTakeFirst();
    if (next === undefined) return;
    yield (last = next.signer_public_key);
  }
}

/** Deletes a version that is not the latest, or whose project gets another latest one in this transaction. */
export async function removeArtifact(transaction: Transacted, deletion: Deletion): Promise<string[] | undefined> {
  const { projectId, version } = deletion;
  const artifact = await selectWhere(transaction, "artifacts", { project_id: projectId, version })
    .select(["id", "artifact_sha256"])
    .executeTakeFirst();
  if (artifact === undefined) return undefined;
  const { id, artifact_sha256: sha256 } = artifact;
  const blobs = [id];
  for (const table of ["deltas", "indexes"] as const) {
    const parts = await deleteWhere(transaction, table, { artifact_id: id }).returning("id").execute();
    blobs.push(...parts.map((part) => part.id));
  }
  await deleteWhere(transaction, "artifacts", { id }).execute();
  await recordDeletion(transaction, deletion, sha256);
  return blobs;
}

/** Newest first; pages by id, which sorts by creation. */
export const listArtifacts = (db: Queries, projectId: string, range: PageRange): Promise<Artifact[]> =>
  newestWhere(db, "artifacts", { project_id: projectId }, range).selectAll().execute();
