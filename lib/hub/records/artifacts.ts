import type { Selectable } from "kysely";
import { requireNotDeleted } from "./deleted-versions.ts";
import { admit } from "./hooks.ts";
import { changeTarget } from "./latest/change-target.ts";
import { enter, findState } from "./latest/states.ts";
import type { PageRange, Queries, Statements, Transacted } from "./port.ts";
import { deleteWhere, newestWhere, selectWhere } from "./rows.ts";
import type { Sealed } from "./secrets.ts";
import { lastingFacts, type Placed } from "./targets.ts";
import type { ArtifactsTable } from "./version-tables.ts";

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

export async function findArtifactById(db: Queries, id: string): Promise<Placed<Artifact> | undefined> {
  const row = await selectWhere(db, "artifacts", { id }).selectAll().executeTakeFirst();
  return row && { ...row, state: await findState(db, row.project_id, row.version) };
}

/**
 * Makes an artifact visible.
 *
 * @param lost id of an artifact whose bytes are gone: the new one takes its place
 * @returns the artifact that has this version: the new one, or an earlier one
 */
export function insertArtifact(transaction: Transacted, artifact: Artifact, lost?: string): Promise<Placed<Artifact>> {
  const { project_id: projectId, version } = artifact;
  const now = Date.parse(artifact.created_at);
  return changeTarget(transaction, projectId, now, async (project, touch) => {
    const existing = await selectWhere(transaction, "artifacts", { project_id: projectId, version })
      .selectAll()
      .executeTakeFirst();
    if (existing !== undefined && existing.id !== lost)
      return { ...existing, state: await findState(transaction, projectId, version) };
    await requireNotDeleted(transaction, projectId, version);
    if (lost !== undefined) await deleteWhere(transaction, "artifacts", { id: lost }).execute();
    await admit(transaction, { projectId, bytes: artifact.size_bytes, versions: 1 });
    // A version that is published again is what it was: in its rank, and in its state.
    const stored = { ...artifact, ...(existing && lastingFacts(existing)) };
    await transaction.insertInto("artifacts").values(stored).execute();
    touch(version);
    if (existing === undefined) return { ...stored, state: await enter(transaction, project, version, now) };
    return { ...stored, state: await findState(transaction, projectId, version) };
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

/** Newest first; pages by id, which sorts by creation. */
export const listArtifacts = (db: Queries, projectId: string, range: PageRange): Promise<Artifact[]> =>
  newestWhere(db, "artifacts", { project_id: projectId }, range).selectAll().execute();
