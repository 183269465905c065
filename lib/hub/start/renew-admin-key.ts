import { resolve } from "node:path";
import { usageError } from "../../contract/errors.ts";
import { BY_HAND, insertAudit } from "../records/audit.ts";
import { adminKeyHash } from "../records/keys.ts";
import { type DatabasePlace, openHubDatabase } from "../storage.ts";
import { renewAdminKey } from "./admin-key.ts";

/**
 * Makes the administrator key of a hub anew, beside the running hub.
 *
 * @returns the path of the file that holds the new key
 * @throws UsageError `usage` when there is no hub
 */
export async function renewAdminKeyOf(options: DatabasePlace): Promise<string> {
  const dataDir = resolve(options.dataDir);
  await using opened = await openHubDatabase({ ...options, dataDir });
  const { database } = opened;
  if ((await adminKeyHash(database.kysely)) === undefined) {
    throw usageError("usage", "The database is not one of a hub that has been started.", {
      hint: "Check --data-dir and --database-url.",
    });
  }
  const now = database.now === undefined ? Date.now() : await database.now();
  const path = await renewAdminKey(dataDir, database, new Date(now).toISOString());
  await insertAudit(database.kysely, { action: "admin-key.renew", subject: "key_admin", ...BY_HAND, facts: {} }, now);
  return path;
}
