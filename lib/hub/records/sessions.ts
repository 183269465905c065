import { hashOf } from "../access/credentials.ts";
import type { Queries } from "./port.ts";

/** The life of a session in seconds (docs/contract/deploy.md). */
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

/** Opens a session and forgets those that have expired. Only the token's hash is stored. */
export async function openSession(
  db: Queries,
  { keyId, projectId, token }: { keyId: string; projectId: string; token: string },
  now: number,
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await transaction.deleteFrom("sessions").where("expires_at", "<=", new Date(now).toISOString()).execute();
    await transaction
      .insertInto("sessions")
      .values({
        hash: hashOf(token),
        key_id: keyId,
        project_id: projectId,
        expires_at: new Date(now + SESSION_SECONDS * 1000).toISOString(),
      })
      .execute();
  });
}
