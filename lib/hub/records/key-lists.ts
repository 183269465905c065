import type { ExpressionBuilder } from "kysely";
import { type ApiKeyRecord, ENDED_SHOWN_MS, type KeyState } from "../../contract/surfaces/keys.ts";
import { keyRecord, type KeyView, visibleKeys } from "./keys.ts";
import type { PageRange, Queries } from "./port.ts";
import type { Schema } from "./schema.ts";

/**
 * Lists keys by id, without those that ended long ago.
 *
 * @param state only live or ended ones @param now milliseconds since 1970
 */
export async function listKeys(
  db: Queries,
  view: KeyView,
  { state, now }: { state: KeyState | undefined; now: number },
  { after, limit }: PageRange,
): Promise<ApiKeyRecord[]> {
  const isLiveAt = (at: number) => (eb: ExpressionBuilder<Schema, "api_keys">) => {
    const time = new Date(at).toISOString();
    return eb.and([
      eb.or([eb("revoked_at", "is", null), eb("revoked_at", ">", time)]),
      eb.or([eb("expires_at", "is", null), eb("expires_at", ">", time)]),
    ]);
  };
  const rows = await visibleKeys(db, view)
    .where("id", ">", after)
    .where(isLiveAt(now - ENDED_SHOWN_MS))
    .$if(state === "live", (query) => query.where(isLiveAt(now)))
    .$if(state === "ended", (query) => query.where((eb) => eb.not(isLiveAt(now)(eb))))
    .orderBy("id")
    .limit(limit)
    .execute();
  return rows.map(keyRecord);
}
