import { approvalRequired } from "../base/errors.ts";
import { requireNotDeleted } from "./deleted-versions.ts";
import { endsOfMade, storedEnds } from "./ends.ts";
import { admitBytes } from "./hooks.ts";
import { changeTarget } from "./latest/change-target.ts";
import { findMarks, stageVersion } from "./latest/states.ts";
import { inTransaction, type Queries, type Transacted } from "./port.ts";
import type { Project } from "./projects.ts";
import { deleteWhere, updateWhere } from "./rows.ts";
import {
  type BlobSignature,
  type BlobsTable,
  type SealedDek,
  UNAPPROVED,
  UNMARKED,
  type VersionsTable,
} from "./version-tables.ts";
import { findVersionById, insertBlob, type Version } from "./versions.ts";

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
