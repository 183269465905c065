import { hashOf } from "../base/identity.ts";
import { isPostgres, type Queries } from "./port.ts";

/** Lifetime of a session, in seconds (docs/contract/deploy.md). */
export const SESSION_SECONDS = 3600;

/** Counts the sessions that live at a moment (ISO 8601). */
export async function countSessions(db: Queries, now: string): Promise<number> {
  const { count } = await db
    .selectFrom("sessions")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("expires_at", ">", now)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Rows removed per statement: few enough that nobody waits for it. */
const REMOVAL_BATCH = 1000;

/**
 * Opens a session. Only the token's hash is stored.
 *
 * @returns false when the project or the key was deleted meanwhile
 */
export async function openSession(
  db: Queries,
  { keyId, projectId, token }: { keyId: string; projectId: string; token: string },
  now: number,
): Promise<boolean> {
  const expiresAt = new Date(now + SESSION_SECONDS * 1000).toISOString();
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("sessions")
    .columns(["hash", "key_id", "project_id", "expires_at"])
    .expression((eb) =>
      // In the order in which a deletion locks them.
      eb
        .selectFrom(["projects as p", "api_keys as k"])
        .select([
          eb.val(hashOf(token)).as("hash"),
          "k.id as key_id",
          "p.id as project_id",
          eb.val(expiresAt).as("expires_at"),
        ])
        .where("p.id", "=", projectId)
        .where("k.id", "=", keyId)
        .$if(isPostgres(db), (query) => query.forKeyShare()),
    )
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 1n;
}

/**
 * Removes sessions that ended before a time (ISO 8601), in batches. Writes nothing when there are none.
 *
 * @returns how many there were
 */
export async function removeSessions(db: Queries, before: string): Promise<number> {
  let removed = 0;
  for (;;) {
    const ended = await db
      .selectFrom("sessions")
      .select("hash")
      .where("expires_at", "<=", before)
      .limit(REMOVAL_BATCH)
      .execute();
    if (ended.length === 0) return removed;
    const hashes = ended.map(({ hash }) => hash);
    await db.deleteFrom("sessions").where("hash", "in", hashes).execute();
    removed += ended.length;
  }
}
