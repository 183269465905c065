import { sql } from "kysely";
import type { ManagedVersion } from "../../contract/surfaces/keys.ts";
import { type Artifact, deleteArtifact, listArtifacts, yankArtifact } from "./artifacts.ts";
import type { PageRange, Queries, Transacted } from "./port.ts";
import { type Project, versionTable } from "./projects.ts";
import { updateWhere } from "./rows.ts";
import { deleteVersion, listVersions, setYanked, type Version } from "./targets.ts";

/** A version with the id that pages go by. */
export interface ListedVersion {
  id: string;
  record: ManagedVersion;
}

const recordOf = (project: Project, version: Artifact | Version): ManagedVersion => ({
  version: version.version,
  created_at: version.created_at,
  size_bytes: Number(version.size_bytes),
  sha256: "artifact_sha256" in version ? version.artifact_sha256 : version.sha256,
  signer_public_key: "signer_public_key" in version ? version.signer_public_key : null,
  is_latest: version.version === project.latest_version,
  is_yanked: version.is_yanked !== 0,
  yanked_reason: version.yanked_reason,
});

/** Lists the versions of a project, plugin or service alike, newest first. */
export async function listManagedVersions(db: Queries, project: Project, page: PageRange): Promise<ListedVersion[]> {
  const versions = await (project.kind === "project" ? listArtifacts : listVersions)(db, project.id, page);
  return versions.map((version) => ({ id: version.id, record: recordOf(project, version) }));
}

/** Yanks a version or takes that back. @returns false when there is no such version */
export async function yankManagedVersion(
  db: Queries,
  { id, kind }: Project,
  change: { version: string; yanked: boolean; reason: string | null },
): Promise<boolean> {
  const changed = await (kind === "project"
    ? yankArtifact(db, { ...change, projectId: id })
    : setYanked(db, { ...change, targetId: id }));
  return changed !== undefined;
}

/** Deletes a version. @returns the ids of the blobs that nobody needs now; undefined when there is no such version */
export function deleteManagedVersion(
  db: Queries,
  { id: projectId, kind }: Project,
  deletion: { version: string; reason: string; now: string },
): Promise<string[] | undefined> {
  return (kind === "project" ? deleteArtifact : deleteVersion)(db, { ...deletion, projectId });
}

/** Notes which key has published a version. @param id of the record */
export async function notePublisher(
  transaction: Transacted,
  table: "artifacts" | "releases",
  { id, keyId }: { id: string; keyId: string },
): Promise<void> {
  await updateWhere(transaction, table, { id }).set({ published_by: keyId }).execute();
}

/** Returns the names of the keys that have published versions, by version. */
export async function publishersOf(
  db: Queries,
  { id, kind }: Pick<Project, "id" | "kind">,
  versions: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (versions.length === 0) return new Map();
  const { versions: table, project } = versionTable(kind);
  const { rows } = await sql<{ version: string; name: string }>`select v.version, k.name
    from (select version, published_by from ${table} where ${project} = ${id} and version in (${sql.join(versions)})) v
    join api_keys k on k.id = v.published_by`.execute(db);
  return new Map(rows.map(({ version, name }) => [version, name]));
}
