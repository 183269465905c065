import { usageError } from "../../../contract/errors.ts";
import { BY_HAND, insertAudit } from "../../records/audit.ts";
import { type Database, inTransaction } from "../../records/port.ts";
import { projectIdCalled } from "../../records/projects.ts";
import { type StorageHolder, type Usage, usageOf } from "../../records/usage.ts";
import { type DatabasePlace, openHubDatabase } from "../../storage/open.ts";
import { listQuotas, type Quota, type QuotaChange, removeQuota, writeQuota } from "./records.ts";

async function onDatabase<T>(place: DatabasePlace, work: (database: Database) => Promise<T>): Promise<T> {
  await using opened = await openHubDatabase(place);
  return await work(opened.database);
}

/**
 * Returns the subject with the project's name replaced by its id. @throws UsageError `usage` as {@link projectIdCalled}
 */
async function meant(db: Database["kysely"], subject: StorageHolder): Promise<StorageHolder> {
  const [kind, name = ""] = subject.split("/");
  return kind === "project" ? `project/${await projectIdCalled(db, name)}` : subject;
}

/** Quota, with its current usage. */
export interface UsedQuota extends Quota {
  usage: Usage;
}

/**
 * Sets limits of a quota while the hub runs. Bytes stored beyond them stay.
 *
 * @throws UsageError `usage` for an unknown project
 */
export function setQuota(place: DatabasePlace, given: QuotaChange): Promise<UsedQuota> {
  return onDatabase(place, async (database) => {
    const { kysely } = database;
    const subject = await meant(kysely, given.subject);
    const at = (await database.now?.()) ?? Date.now();
    const quota = await inTransaction(kysely, async (transaction) => {
      const written = await writeQuota(transaction, { ...given, subject });
      const { max_bytes, max_versions } = written;
      await insertAudit(
        transaction,
        { action: "quota.set", subject, ...BY_HAND, facts: { max_bytes, max_versions } },
        at,
      );
      return written;
    });
    return { ...quota, usage: await usageOf(kysely, subject) };
  });
}

/**
 * Removes a quota while the hub runs.
 *
 * @param dryRun only finds it
 * @returns the quota
 * @throws UsageError `usage` when there is no such quota
 */
export function dropQuota(place: DatabasePlace, given: StorageHolder, { dryRun = false } = {}): Promise<UsedQuota> {
  return onDatabase(place, async (database) => {
    const { kysely } = database;
    const quotas = await listQuotas(kysely);
    // The project may have been deleted.
    const isKept = quotas.some((each) => each.subject === given);
    const subject = isKept ? given : await meant(kysely, given);
    const missing = () => usageError("usage", `There is no quota of ${subject}.`);
    const quota = quotas.find((each) => each.subject === subject);
    if (quota === undefined) throw missing();
    const dropped = { ...quota, usage: await usageOf(kysely, subject) };
    if (dryRun) return dropped;
    const at = (await database.now?.()) ?? Date.now();
    await inTransaction(kysely, async (transaction) => {
      if (!(await removeQuota(transaction, subject))) throw missing();
      await insertAudit(transaction, { action: "quota.remove", subject, ...BY_HAND }, at);
    });
    return dropped;
  });
}

/** Returns all quotas, each with its current usage. */
export function usedQuotas(place: DatabasePlace): Promise<UsedQuota[]> {
  return onDatabase(place, async ({ kysely }) => {
    const found: UsedQuota[] = [];
    for (const quota of await listQuotas(kysely)) found.push({ ...quota, usage: await usageOf(kysely, quota.subject) });
    return found;
  });
}
