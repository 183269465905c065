import { sql } from "kysely";
import type { ManagedVersion } from "../../contract/surfaces/keys.ts";
import { conflict } from "../ground/errors.ts";
import { type Artifact, listArtifacts } from "./artifacts.ts";
import { type Deletion, recordDeletion } from "./deleted-versions.ts";
import { deltaSizes } from "./deltas.ts";
import { abortByHub, changeTarget, haltByHub } from "./latest/change-target.ts";
import type { VersionStatesTable } from "./latest/state-table.ts";
import { isPublished, open, stateRecord, statesOf } from "./latest/states.ts";
import { inTransaction, type PageRange, type Queries, type Transacted } from "./port.ts";
import { type Project, versionTable } from "./projects.ts";
import { findLiveRollout } from "./rollouts.ts";
import { deleteWhere, selectWhere, updateWhere } from "./rows.ts";
import type { Version } from "./target-detail.ts";
import { listVersions } from "./targets.ts";

/** A version with the id that pages go by. */
export interface ListedVersion {
  id: string;
  record: ManagedVersion;
}

/** The facts of a version that other tables have. */
interface Beside {
  state: VersionStatesTable | undefined;
  publisher: string | undefined;
  deltas: ManagedVersion["deltas"];
}

const recordOf = (
  project: Project,
  version: Artifact | Version,
  { state, publisher, deltas }: Beside,
): ManagedVersion => ({
  version: version.version,
  created_at: version.created_at,
  size_bytes: Number(version.size_bytes),
  sha256: "artifact_sha256" in version ? version.artifact_sha256 : version.sha256,
  signer_public_key: "signer_public_key" in version ? version.signer_public_key : null,
  is_latest: version.version === project.latest_version,
  is_yanked: version.is_yanked !== 0,
  yanked_reason: version.yanked_reason,
  ...(state !== undefined && { state: stateRecord(state), state_reason: state.reason }),
  published_by: publisher ?? null,
  ...(deltas !== undefined && { deltas }),
});

/** Lists the versions of a project, plugin or service alike, newest first. */
export async function listManagedVersions(db: Queries, project: Project, page: PageRange): Promise<ListedVersion[]> {
  const versions = await (project.kind === "project" ? listArtifacts : listVersions)(db, project.id, page);
  const labels = versions.map(({ version }) => version);
  const states = await statesOf(db, project.id, labels);
  const publishers = await publishersOf(db, project, labels);
  const ids = versions.map(({ id }) => id);
  const deltas = project.kind === "project" ? await deltaSizes(db, ids) : undefined;
  return versions.map((version) => ({
    id: version.id,
    record: recordOf(project, version, {
      state: states.get(version.version),
      publisher: publishers.get(version.version),
      deltas: deltas && (deltas.get(version.id) ?? []),
    }),
  }));
}

/**
 * Yanks a version or takes that back. A yank halts the live rollout of the version.
 *
 * @param now milliseconds since 1970 @returns false when there is no such version
 */
export function yankVersion(
  db: Queries,
  { id }: Pick<Project, "id">,
  { version, yanked, reason }: { version: string; yanked: boolean; reason: string | null },
  now: number,
): Promise<boolean> {
  return inTransaction(db, (transaction) =>
    changeTarget(transaction, id, now, async (target, touch) => {
      const changes = { is_yanked: yanked ? 1 : 0, yanked_reason: reason };
      const update =
        target.kind === "project"
          ? updateWhere(transaction, "artifacts", { project_id: id, version }).set(changes)
          : updateWhere(transaction, "releases", { target_id: id, version }).set(changes);
      const { numUpdatedRows } = await update.executeTakeFirst();
      if (numUpdatedRows === 0n) return false;
      touch(version);
      const live = yanked ? await findLiveRollout(transaction, id) : undefined;
      if (live?.version === version && live.state !== "halted")
        await haltByHub(transaction, target, live, `${version} was yanked.`, now);
      return true;
    }),
  );
}

/**
 * Deletes a version with everything that belongs to it; its live rollout ends.
 *
 * @returns the ids of the blobs that nobody needs now; undefined when there is no such version
 */
export function deleteVersion(
  db: Queries,
  { id }: Pick<Project, "id">,
  deletion: Deletion,
): Promise<string[] | undefined> {
  return inTransaction(db, (transaction) =>
    changeTarget(transaction, id, Date.parse(deletion.now), async (target, touch) => {
      const blobs = await removeVersion(transaction, target, deletion);
      if (blobs !== undefined) touch(deletion.version);
      return blobs;
    }),
  );
}

/**
 * Deletes versions of which none is the latest. Their labels are never used again.
 *
 * @returns the ids of the blobs that nobody needs now
 */
export function removeVersions(
  transaction: Transacted,
  { id }: Pick<Project, "id">,
  versions: readonly string[],
  why: Omit<Deletion, "version">,
): Promise<string[]> {
  return changeTarget(transaction, id, Date.parse(why.now), async (target, touch) => {
    const blobs: string[] = [];
    for (const version of versions) {
      blobs.push(...((await removeVersion(transaction, target, { ...why, version })) ?? []));
      touch(version);
    }
    return blobs;
  });
}

async function removeVersion(
  transaction: Transacted,
  target: Project,
  deletion: Deletion,
): Promise<string[] | undefined> {
  const { id: projectId, kind } = target;
  const { version, now } = deletion;
  const blobs: string[] = [];
  if (kind === "project") {
    const artifact = await selectWhere(transaction, "artifacts", { project_id: projectId, version })
      .select(["id", "artifact_sha256"])
      .executeTakeFirst();
    if (artifact === undefined) return undefined;
    const { id, artifact_sha256: sha256 } = artifact;
    blobs.push(id);
    for (const table of ["deltas", "indexes"] as const) {
      const parts = await deleteWhere(transaction, table, { artifact_id: id }).returning("id").execute();
      blobs.push(...parts.map((part) => part.id));
    }
    await deleteWhere(transaction, "artifacts", { id }).execute();
    await recordDeletion(transaction, projectId, deletion, sha256);
  } else {
    const row = await deleteWhere(transaction, "releases", { target_id: projectId, version })
      .returning(["id", "sha256"])
      .executeTakeFirst();
    if (row === undefined) return undefined;
    blobs.push(row.id);
    await recordDeletion(transaction, projectId, deletion, row.sha256);
  }
  await deleteWhere(transaction, "version_states", { project_id: projectId, version }).execute();
  const live = await findLiveRollout(transaction, projectId);
  if (live?.version === version)
    await abortByHub(transaction, target, live, `${version} was deleted.`, Date.parse(now));
  return blobs;
}

/**
 * Opens a held version to every host.
 *
 * @param now milliseconds since 1970
 * @returns false when every host may have it already; undefined when there is no such version
 * @throws HubError 409 while the rollout of the version is live
 */
export function releaseVersion(
  db: Queries,
  { id }: Pick<Project, "id">,
  version: string,
  now: number,
): Promise<boolean | undefined> {
  return inTransaction(db, (transaction) =>
    changeTarget(transaction, id, now, async (target, touch) => {
      if (!(await isPublished(transaction, target, version))) return undefined;
      const live = await findLiveRollout(transaction, id);
      if (live?.version === version)
        throw conflict(
          `${version} is being rolled out by ${live.id}, which is ${live.state}: abort that first, or let it complete.`,
        );
      touch(version);
      return open(transaction, target, version);
    }),
  );
}

/** Returns the names of the keys that have published versions, by version. */
async function publishersOf(
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
