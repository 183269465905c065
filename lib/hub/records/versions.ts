import { sql } from "kysely";
import type { VersionContent, VersionMarks } from "../../contract/facts/version.ts";
import { may, type Principal } from "../base/principal.ts";
import { type Deletion, recordDeletion } from "./deleted-versions.ts";
import { stateRecord } from "./latest/states.ts";
import { type PageRange, type Queries, type Transacted } from "./port.ts";
import { deleteWhere, updateWhere } from "./rows.ts";
import {
  type BlobSignature,
  type BlobsTable,
  type Marks,
  type SealedDek,
  type VersionsTable,
} from "./version-tables.ts";

/** Version, with the facts of its main blob. */
export type Version = VersionsTable & Pick<BlobsTable, "size_bytes" | "sha256"> & BlobSignature;

/** Starts a query for versions with the facts of their main blobs. */
export const selectVersions = (db: Queries) =>
  db
    .selectFrom("versions as v")
    .innerJoin("blobs as b", "b.id", "v.id")
    .selectAll("v")
    .select(["b.size_bytes", "b.sha256", "b.signature", "b.signer_public_key"]);

export const findVersion = (db: Queries, projectId: string, version: string): Promise<Version | undefined> =>
  selectVersions(db).where("v.project_id", "=", projectId).where("v.version", "=", version).executeTakeFirst();

export const findVersionById = (db: Queries, id: string): Promise<Version | undefined> =>
  selectVersions(db).where("v.id", "=", id).executeTakeFirst();

/** Condition on versions `v`: those that are published, which a staged one is not. */
export const PUBLISHED = sql<boolean>`(v.state is null or v.state <> 'staged')`;

/**
 * Starts a query for one page of versions, newest first: ids sort by creation time. The project is given as a range,
 * and part of the order, because PostgreSQL would otherwise walk the primary key past the versions of all other
 * projects.
 *
 * @param viewer key that acts on the project, and may see staged versions; undefined for everybody else
 */
export const newestVersions = (
  db: Queries,
  projectId: string,
  { after, limit }: PageRange,
  viewer: Principal | undefined,
) =>
  selectVersions(db)
    .$if(viewer === undefined || !may(viewer, "publish"), (query) =>
      query.where((eb) => eb.or([PUBLISHED, eb("v.published_by", "=", viewer?.keyId ?? "")])),
    )
    .where("v.project_id", ">=", projectId)
    .where((eb) =>
      after === ""
        ? eb("v.project_id", "<=", projectId)
        : eb(eb.refTuple("v.project_id", "v.id"), "<", eb.tuple(projectId, after)),
    )
    .orderBy("v.project_id", "desc")
    .orderBy("v.id", "desc")
    .limit(limit);

/** Facts of a version in the answers of both surfaces. */
export interface VersionFacts extends VersionContent, VersionMarks {
  /** State; undefined for an open version. */
  state: ReturnType<typeof stateRecord>;
}

/** Converts a version's marks to their form on the wire. */
export const marksOf = (row: Marks): VersionMarks => ({
  is_yanked: row.is_yanked !== 0,
  yanked_reason: row.yanked_reason,
  ...(row.deprecated_message !== null && {
    deprecated: { message: row.deprecated_message, replaced_by: row.replaced_by },
  }),
  ...(row.approved_at !== null && { approved_at: row.approved_at }),
});

/** Converts a version's facts to their form on the wire. */
export const factsOf = (row: Version): VersionFacts => ({
  version: row.version,
  created_at: row.created_at,
  size_bytes: Number(row.size_bytes),
  sha256: row.sha256,
  ...marksOf(row),
  state: stateRecord(row),
});

/** Adds a blob of a version to the ledger. @param dek of an artifact or delta */
export async function insertBlob(transaction: Transacted, blob: BlobsTable, dek: SealedDek | null): Promise<void> {
  await transaction.insertInto("blobs").values(blob).execute();
  const { id, project_id } = blob;
  if (dek !== null)
    await transaction
      .insertInto("sealed")
      .values({ id, project_id, ...dek })
      .execute();
}

/** Removes the rows of a version; its label is free. @returns ids of its blobs */
export async function removeRows(transaction: Transacted, { id }: Pick<VersionsTable, "id">): Promise<string[]> {
  const blobs = await deleteWhere(transaction, "blobs", { version_id: id }).returning("id").execute();
  await deleteWhere(transaction, "versions", { id }).execute();
  return blobs.map((blob) => blob.id);
}

/**
 * Removes a version with its blobs, and records its label as deleted. @returns ids of the blobs; undefined for no such
 * version
 */
export async function removeVersion(
  transaction: Transacted,
  projectId: string,
  deletion: Deletion,
): Promise<string[] | undefined> {
  const found = await findVersion(transaction, projectId, deletion.version);
  if (found === undefined) return undefined;
  const blobs = await removeRows(transaction, found);
  await recordDeletion(transaction, found, deletion);
  return blobs;
}

/** Removes deleted versions from the advice against others. */
export async function forgetReplacements(transaction: Transacted, projectId: string): Promise<void> {
  await updateWhere(transaction, "versions", { project_id: projectId })
    .set({ replaced_by: null })
    .where("replaced_by", "is not", null)
    .where((eb) => {
      const others = eb.selectFrom("versions as o").where("o.project_id", "=", projectId);
      return eb.not(eb.exists(others.select("o.id").whereRef("o.version", "=", "versions.replaced_by")));
    })
    .execute();
}
