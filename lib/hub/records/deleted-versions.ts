import type { Transacted } from "./port.ts";
import { selectWhere } from "./rows.ts";
import type { VersionsTable } from "./version-tables.ts";

/** Version to delete. */
export interface Deletion {
  version: string;
  reason: string;
  /** Current time, ISO 8601. */
  now: string;
}

/** Facts of a version that outlive it. @property sha256 of its bytes */
type DeletedVersion = Pick<VersionsTable, "project_id" | "version" | "is_taken_back" | "created_at"> & {
  sha256: string;
};

/** Error for the label of a deleted version, which cannot be used again: hosts may still know it by its other bytes. */
export class VersionDeleted extends Error {
  readonly version: string;
  readonly reason: string;
  /** Time of the deletion, ISO 8601. */
  readonly deletedAt: string;

  constructor(version: string, { reason, deletedAt }: { reason: string; deletedAt: string }) {
    super(`Version ${version} was deleted.`);
    this.version = version;
    this.reason = reason;
    this.deletedAt = deletedAt;
  }
}

/**
 * Records the label of a version that this transaction deletes. One that was taken back stays taken back: hosts that
 * still run it are to go back.
 */
export async function recordDeletion(
  transaction: Transacted,
  { project_id, version, sha256, is_taken_back, created_at: published_at }: DeletedVersion,
  { reason, now }: Deletion,
): Promise<void> {
  await transaction
    .insertInto("deleted_versions")
    .values({ project_id, version, sha256, reason, deleted_at: now, is_taken_back, published_at })
    .execute();
}

/** Requires a label that was never deleted; the caller has locked the project's row. @throws VersionDeleted */
export async function requireNotDeleted(transaction: Transacted, projectId: string, version: string): Promise<void> {
  const deleted = await selectWhere(transaction, "deleted_versions", { project_id: projectId, version })
    .select(["reason", "deleted_at"])
    .executeTakeFirst();
  if (deleted === undefined) return;
  throw new VersionDeleted(version, { reason: deleted.reason, deletedAt: deleted.deleted_at });
}
