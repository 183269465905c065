import { sql } from "kysely";
import type { VersionContent, VersionMarks } from "../../contract/surfaces/version-facts.ts";
import { approvalRequired } from "../base/errors.ts";
import { may, type Principal } from "../base/principal.ts";
import { type Deletion, recordDeletion, requireNotDeleted } from "./deleted-versions.ts";
import { endsOfMade, storedEnds } from "./ends.ts";
import { admitBytes } from "./hooks.ts";
import { changeTarget } from "./latest/change-target.ts";
import { findMarks, stageVersion, stateRecord } from "./latest/states.ts";
import { inTransaction, type PageRange, type Queries, type Transacted } from "./port.ts";
import type { Project } from "./projects.ts";
import { deleteWhere, updateWhere } from "./rows.ts";
import {
  type BlobSignature,
  type BlobsTable,
  type Marks,
  type SealedDek,
  UNAPPROVED,
  UNMARKED,
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

/** Columns kept when the lost bytes of a version are published again: labels rank by their time. */
const LASTING = ["created_at", ...Object.keys(UNMARKED)] as const;

/** Returns the columns that a version takes over from the one that it replaces. */
const carryOver = (row: VersionsTable): Partial<VersionsTable> =>
  Object.fromEntries(LASTING.map((name) => [name, row[name as keyof VersionsTable]]));

/** Circumstances of an insertion. */
interface Insertion {
  /** Id of a version whose bytes are gone, which the new one replaces. */
  lost?: string | undefined;
  /** Visibility to set on its target. */
  visibility?: Project["visibility"] | undefined;
  /** Whether it is staged, and published once another person approves it. */
  stage?: boolean;
}

/** New version, as its publisher gives it. */
export interface NewVersion
  extends
    Omit<VersionsTable, keyof typeof UNMARKED | "ends">,
    Pick<BlobsTable, "size_bytes" | "sha256">,
    BlobSignature {
  part: "artifact" | "archive";
  /** Sealed DEK; null for an archive. */
  dek: SealedDek | null;
}

/**
 * Stores a version, and publishes it unless it is staged.
 *
 * @returns the stored record of this version: the new one, or an earlier one
 * @throws VersionDeleted; HubError when a feature does not admit it
 */
export function insertVersion(
  db: Queries,
  { part, size_bytes, sha256, signature, signer_public_key, dek, ...added }: NewVersion,
  { lost, visibility, stage: isStaged = false }: Insertion = {},
): Promise<Version> {
  const { id, project_id, version } = added;
  const now = Date.parse(added.created_at);
  return inTransaction(db, (transaction) =>
    changeTarget(transaction, project_id, now, async (target, touch, tell) => {
      const existing = await findMarks(transaction, project_id, version);
      if (existing !== undefined && existing.id !== lost) return (await findVersionById(transaction, existing.id))!;
      await requireNotDeleted(transaction, project_id, version);
      const before = lost === undefined ? undefined : await findVersionById(transaction, lost);
      const isSame = before !== undefined && before.sha256 === sha256;
      if (target.requires_approval !== 0 && !isStaged && !isSame) throw approvalRequired(target);
      if (isSame) await giveWay(transaction, before);
      else {
        if (lost !== undefined) await deleteWhere(transaction, "versions", { id: lost }).execute();
        await admitBytes(transaction, { project: target, bytes: size_bytes, versions: 1 });
      }
      // A version that is published again keeps its rank and state. An approval does not cover other bytes.
      const kept = { ...(existing && carryOver(existing)), ...(!isSame && UNAPPROVED) };
      const ends = isStaged || before?.state === "staged" ? await endsOfStager(transaction, added, before) : null;
      const row = { ...added, ...UNMARKED, ...kept, ends };
      await transaction.insertInto("versions").values(row).execute();
      const blob = { id, version_id: id, project_id, part, base_version: "", base_content_sha256: null };
      // An archive's author signature survives when the same archive is published again.
      const author = signature === null && before !== undefined ? before : { signature, signer_public_key };
      const signed = { signature: author.signature, signer_public_key: author.signer_public_key };
      const bytes = { size_bytes, sha256, ...signed };
      await insertBlob(transaction, { ...blob, ...bytes }, dek);
      if (isSame) await passOnParts(transaction, before.id, id);
      if (visibility !== undefined)
        await updateWhere(transaction, "projects", { id: project_id }).set({ visibility }).execute();
      touch(version);
      if (isStaged && !isSame) await stageVersion(transaction, target, version, now);
      else if (existing === undefined) await tell({ what: "publish", version });
      return { ...row, ...(await findMarks(transaction, project_id, version)), ...bytes };
    }),
  );
}

/** Returns the ends of a staged version as they are stored, with those of the one whose lost bytes have come again. */
async function endsOfStager(
  transaction: Transacted,
  { published_by: key }: Pick<VersionsTable, "published_by">,
  before: Version | undefined,
): Promise<string> {
  const ends = await endsOfMade(transaction, null, key);
  const earlier = before === undefined ? [] : await endsOfMade(transaction, before.ends, before.published_by);
  return storedEnds([...new Set([...ends, ...earlier])]);
}

/** Takes a version's label and its lost blob from it: the same bytes have come again. */
async function giveWay(transaction: Transacted, { id }: Pick<VersionsTable, "id">): Promise<void> {
  await deleteWhere(transaction, "blobs", { id }).execute();
  // A name that no version may have.
  await updateWhere(transaction, "versions", { id })
    .set({ version: `lost ${id}` })
    .execute();
}

/** Gives what stands beside a version's bytes, such as statements, to the one that takes its place, and removes it. */
async function passOnParts(transaction: Transacted, from: string, to: string): Promise<void> {
  await updateWhere(transaction, "blobs", { version_id: from }).set({ version_id: to }).execute();
  await deleteWhere(transaction, "versions", { id: from }).execute();
}

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
