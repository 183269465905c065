import { usageError } from "../../../contract/errors.ts";
import { BY_HAND, insertAudit } from "../../records/audit.ts";
import { type Database, inTransaction } from "../../records/port.ts";
import { projectIdCalled } from "../../records/projects.ts";
import { type StorageHolder, type Usage, usageOf } from "../../records/usage.ts";
import { type DatabasePlace, openHubDatabase } from "../../storage/open.ts";
import { listQuotas, type Quota, removeQuota, writeQuota } from "./records.ts";

async function onDatabase<T>(place: DatabasePlace, work: (database: Database) => Promise<T>): Promise<T> {
  await using opened = await openHubDatabase(place);
  return await work(opened.database);
}

/** The subject with the project's id in the place of its name. @throws UsageError `usage` as {@link projectIdCalled} */
async function meant(db: Database["kysely"], subject: StorageHolder): Promise<StorageHolder> {
  const [kind, name = ""] = subject.split("/");
  return kind === "project" ? `project/${await projectIdCalled(db, name)}` : subject;
}

/** A quota with what is used of it. */
export interface UsedQuota extends Quota {
  usage: Usage;
}

/**
 * Sets a quota beside the running hub. Stored bytes stay, even beyond it.
 *
 * @throws UsageError `usage` for an unknown project
 */
export function setQuota(place: DatabasePlace, given: Quota): Promise<UsedQuota> {
  return onDatabase(place, async (database) => {
    const { kysely } = database;
    const quota = { ...given, subject: await meant(kysely, given.subject) };
    const at = (await database.now?.()) ?? Date.now();
    const { subject, ...facts } = quota;
    await inTransaction(kysely, async (transaction) => {
      await writeQuota(transaction, quota);
      await insertAudit(transaction, { action: "quota.set", subject, ...BY_HAND, facts }, at);
    });
    return { ...quota, usage: await usageOf(kysely, subject) };
  });
}

/**
 * Lifts a quota beside the running hub.
 *
 * @param dryRun only finds it
 * @returns the quota
 * @throws UsageError `usage` when there is no such quota
 */
export function dropQuota(place: DatabasePlace, given: StorageHolder, { dryRun = false } = {}): Promise<UsedQuota> {
  return onDatabase(place, async (database) => {
    const { kysely } = database;
    const quotas = await listQuotas(kysely);
    // The project of a quota may be gone.
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
      await insertAudit(transaction, { action: "quota.remove", subject, ...BY_HAND, facts: {} }, at);
    });
    return dropped;
  });
}

/** All quotas, with what is used of each. */
export function usedQuotas(place: DatabasePlace): Promise<UsedQuota[]> {
  return onDatabase(place, async ({ kysely }) => {
    const found: UsedQuota[] = [];
    for (const quota of await listQuotas(kysely)) found.push({ ...quota, usage: await usageOf(kysely, quota.subject) });
    return found;
  });
}
