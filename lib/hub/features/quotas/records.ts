import { HubError } from "../../base/errors.ts";
import type { Upload } from "../../records/hooks.ts";
import type { Queries, Transacted } from "../../records/port.ts";
import { deleteWhere } from "../../records/rows.ts";
import { type StorageHolder, type Usage, usageOf } from "../../records/usage.ts";
import type { QuotasTable } from "./tables.ts";

/** Storage limits of an owner or project; null for none. */
export interface Quota {
  subject: StorageHolder;
  /** Most bytes of artifacts, archives, deltas, indexes and reports. */
  max_bytes: number | null;
  max_versions: number | null;
}

/** The database with the table of quotas. */
const own = (db: Queries) => db.withTables<{ quotas: QuotasTable }>();

/** Returns the refusal of a publication beyond a quota. Not 507, which suggests a retry: it would be refused again. */
function quotaExceeded({ subject, max_bytes, max_versions }: Quota, usage: Usage, added: Usage): HubError {
  const bytes = max_bytes !== null && usage.bytes + added.bytes > max_bytes;
  const [kind, name] = subject.split("/");
  const what = bytes
    ? `${usage.bytes} of ${max_bytes} bytes, and this needs ${added.bytes}`
    : `${usage.versions} of ${max_versions} versions`;
  return new HubError(413, "quota_exceeded", `The quota of the ${kind} ${name} is used up: ${what}.`);
}

/**
 * Requires that a publication fits the quotas of its project and owner, and locks their rows until the transaction
 * ends.
 *
 * @throws HubError 413 `quota_exceeded`
 */
export async function requireRoom(transaction: Transacted, { project, ...upload }: Upload): Promise<void> {
  const { id, owner } = project;
  const quotas = await own(transaction)
    .updateTable("quotas")
    .set((eb) => ({ max_bytes: eb.ref("max_bytes") }))
    .where("subject", "in", [`owner/${owner}`, `project/${id}`])
    .returningAll()
    .execute();
  for (const row of quotas) {
    const quota = quotaOf(row);
    const usage = await usageOf(transaction, quota.subject);
    const { max_bytes: maxBytes, max_versions: maxVersions } = quota;
    const bytes = quota.subject === `owner/${owner}` ? (upload.ownersBytes ?? upload.bytes) : upload.bytes;
    const added = { bytes, versions: upload.versions };
    if (maxBytes !== null && usage.bytes + added.bytes > maxBytes) throw quotaExceeded(quota, usage, added);
    if (maxVersions !== null && usage.versions + added.versions > maxVersions && added.versions > 0)
      throw quotaExceeded(quota, usage, added);
  }
}

const quotaOf = (row: { subject: string; max_bytes: number | null; max_versions: number | null }): Quota => ({
  subject: row.subject as StorageHolder,
  max_bytes: row.max_bytes === null ? null : Number(row.max_bytes),
  max_versions: row.max_versions === null ? null : Number(row.max_versions),
});

/** Limits of a quota to set; those left out stay as they are. */
export type QuotaChange = Pick<Quota, "subject"> & Partial<Quota>;

/** Sets limits of an owner or project. @returns the quota as it is then */
export async function writeQuota(db: Queries, { subject, ...limits }: QuotaChange): Promise<Quota> {
  const row = await own(db)
    .insertInto("quotas")
    .values({ subject, max_bytes: null, max_versions: null, ...limits })
    .onConflict((conflict) => conflict.column("subject").doUpdateSet(limits))
    .returningAll()
    .executeTakeFirstOrThrow();
  return quotaOf(row);
}

/** Removes a quota. @returns false when there was none */
export async function removeQuota(db: Queries, subject: StorageHolder): Promise<boolean> {
  const { numDeletedRows } = await deleteWhere(own(db), "quotas", { subject }).executeTakeFirst();
  return numDeletedRows > 0n;
}

/** Lists all quotas, by their subjects. An operator sets them one by one, so they are few. */
export async function listQuotas(db: Queries): Promise<Quota[]> {
  return (await own(db).selectFrom("quotas").selectAll().orderBy("subject").execute()).map(quotaOf);
}
