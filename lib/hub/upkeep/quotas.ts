import { usageError } from "../../contract/errors.ts";
import { BY_HAND, insertAudit } from "../records/audit.ts";
import { type Database, inTransaction } from "../records/port.ts";
import { findProject } from "../records/projects.ts";
import {
  listQuotas,
  type Quota,
  type QuotaSubject,
  removeQuota,
  type Usage,
  usageOf,
  writeQuota,
} from "../records/quotas.ts";
import { type DatabasePlace, openHubDatabase } from "../storage/open.ts";

async function onDatabase<T>(place: DatabasePlace, work: (database: Database) => Promise<T>): Promise<T> {
  await using opened = await openHubDatabase(place);
  return await work(opened.database);
}

/** A quota with what is used of it. */
export interface UsedQuota extends Quota {
  usage: Usage;
}

/**
 * Sets a quota beside the running hub. What is stored already stays.
 *
 * @throws UsageError `usage` for a project that there is not
 */
export function setQuota(place: DatabasePlace, quota: Quota): Promise<UsedQuota> {
  return onDatabase(place, async (database) => {
    const { kysely } = database;
    const [kind, id = ""] = quota.subject.split("/");
    if (kind === "project" && (await findProject(kysely, id)) === undefined) {
      throw usageError("usage", `There is no project ${id}.`, { hint: "sealift project list --json shows the ids." });
    }
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
export function dropQuota(place: DatabasePlace, subject: QuotaSubject, { dryRun = false } = {}): Promise<UsedQuota> {
  return onDatabase(place, async (database) => {
    const { kysely } = database;
    const missing = () => usageError("usage", `There is no quota of ${subject}.`);
    const quota = (await listQuotas(kysely)).find((each) => each.subject === subject);
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
