import type { Selectable } from "kysely";
import { latestOf } from "../../contract/versions.ts";
import type { Queries, Statements, Transacted } from "./port.ts";
import { lockProject } from "./projects.ts";
import type { ArtifactsTable } from "./schema.ts";
import type { Sealed } from "./secrets.ts";

export type Artifact = Selectable<ArtifactsTable>;

const LOCATION = "SELECT * FROM artifacts WHERE project_id = ? AND version = ?";
const BYTES =
  "SELECT id, size_bytes, artifact_sha256 FROM artifacts WHERE id = ? " +
  "UNION ALL SELECT id, size_bytes, artifact_sha256 FROM deltas WHERE id = ?";

/** The artifact of a version: one indexed read. */
export async function findArtifact(
  statements: Statements,
  projectId: string,
  version: string,
): Promise<Artifact | undefined> {
  return (await statements.first(LOCATION, [projectId, version])) as Artifact | undefined;
}

/** The facts that a download of an artifact or delta needs. */
export async function findArtifactBytes(
  statements: Statements,
  id: string,
): Promise<Pick<Artifact, "id" | "size_bytes" | "artifact_sha256"> | undefined> {
  return (await statements.first(BYTES, [id, id])) as Artifact | undefined;
}

/** The facts that `authorize` decides on: the artifact or delta of this signature, and the credential with its key. */
export interface Authorization {
  /** Undefined when no artifact or delta of the project has the signature. */
  artifactId: string | undefined;
  /** Undefined for a credential that is unknown, or of another project. */
  credential: { expiresAt: string | null; revokedAt: string | null } | undefined;
}

export async function findAuthorization(
  db: Queries,
  { projectId, credentialHash, signature }: { projectId: string; credentialHash: string; signature: string },
): Promise<Authorization> {
  const credential = await db
    .selectFrom("deployment_credentials as c")
    .innerJoin("api_keys as k", "k.id", "c.key_id")
    .select(["k.expires_at", "k.revoked_at"])
    .where("c.hash", "=", credentialHash)
    .where("c.project_id", "=", projectId)
    .executeTakeFirst();
  const signed = (table: "artifacts" | "deltas") =>
    db.selectFrom(table).select("id").where("project_id", "=", projectId).where("signature", "=", signature);
  const artifact = await signed("artifacts").unionAll(signed("deltas")).orderBy("id").executeTakeFirst();
  return {
    artifactId: artifact?.id,
    credential: credential && { expiresAt: credential.expires_at, revokedAt: credential.revoked_at },
  };
}

/** The sealed DEK as it stands now; a rotation may have replaced it since the last read. */
export async function readSealedDek(db: Queries, artifactId: string): Promise<Sealed | undefined> {
  const sealed = (table: "artifacts" | "deltas") =>
    db.selectFrom(table).select(["kek_id", "sealed_dek"]).where("id", "=", artifactId);
  const row = await sealed("artifacts").unionAll(sealed("deltas")).executeTakeFirst();
  return row && { kekId: row.kek_id, sealed: row.sealed_dek };
}

export function findArtifactById(db: Queries, id: string): Promise<Artifact | undefined> {
  return db.selectFrom("artifacts").selectAll().where("id", "=", id).executeTakeFirst();
}

/**
 * Makes an artifact visible and recomputes the project's latest version. The project's row is locked first: two publishers of
 * different versions would otherwise each compute "latest" without the other's.
 *
 * @param lost id of an artifact whose bytes are gone: the new one takes its place
 * @returns the artifact that has this version: the new one, or an earlier one
 */
export async function insertArtifact(transaction: Transacted, artifact: Artifact, lost?: string): Promise<Artifact> {
  const { project_id: projectId, version } = artifact;
  const { latest_version: latestVersion } = await lockProject(transaction, projectId);
  if (lost !== undefined) await transaction.deleteFrom("artifacts").where("id", "=", lost).execute();
  const find = (wanted: string) =>
    transaction
      .selectFrom("artifacts")
      .selectAll()
      .where("project_id", "=", projectId)
      .where("version", "=", wanted)
      .executeTakeFirst();
  const existing = await find(version);
  if (existing !== undefined) return existing;
  await transaction.insertInto("artifacts").values(artifact).execute();
  // Nothing is ever yanked here, so the best of all is the best of the best so far and the new one.
  const best = latestVersion === null ? undefined : await find(latestVersion);
  const latest = latestOf(best === undefined ? [artifact] : [best, artifact]);
  await transaction
    .updateTable("projects")
    .set({ latest_version: latest?.version ?? null })
    .where("id", "=", projectId)
    .execute();
  return artifact;
}
