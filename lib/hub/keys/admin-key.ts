import { readFile, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { usageError } from "../../contract/errors.ts";
import { syncFolder, writeFileAtomic } from "../../support/files.ts";
import { hashOf, issue } from "../base/identity.ts";
import { adminKeyHash, insertAdminKey, replaceAdminKey } from "../records/administrator.ts";
import { BY_HAND, insertAudit } from "../records/audit.ts";
import type { Database } from "../records/port.ts";
import { type DatabasePlace, openHubDatabase } from "../storage/open.ts";

/** Returns the path of the administrator's key file, and of the file for a key that is not registered yet. */
const filesOf = (dataDir: string) => ({
  path: join(dataDir, "admin.key"),
  pending: join(dataDir, "admin.key.pending"),
});

async function adopt(dataDir: string): Promise<string> {
  const { path, pending } = filesOf(dataDir);
  await rename(pending, path);
  await syncFolder(dataDir);
  return path;
}

/** Writes a new key beside its final path, so that a crash before or after registration loses neither key nor file. */
async function writePending(dataDir: string): Promise<string> {
  const key = issue("key");
  await writeFileAtomic(filesOf(dataDir).pending, `${key}\n`, { mode: 0o600 });
  return key;
}

/** Creates the one administrator key of a new hub and writes it to `<data-dir>/admin.key` (0600). */
export async function prepareAdminKey(dataDir: string, database: Database, now: string): Promise<void> {
  const { pending } = filesOf(dataDir);
  const registered = await adminKeyHash(database.kysely);
  if (registered !== undefined) {
    const left = await readFile(pending, "utf8").catch(() => undefined);
    if (left === undefined) return;
    if (hashOf(left.trim()) === registered) await adopt(dataDir);
    else await rm(pending, { force: true });
    return;
  }
  const key = await writePending(dataDir);
  if (await insertAdminKey(database.kysely, key, now)) await adopt(dataDir);
  else await rm(pending, { force: true });
}

/**
 * Replaces the administrator key of a running hub: the old one stops working at once.
 *
 * @returns the path of the file with the new key
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
  const key = await writePending(dataDir);
  await replaceAdminKey(database.kysely, key, new Date(now).toISOString());
  const path = await adopt(dataDir);
  await insertAudit(database.kysely, { action: "admin-key.renew", subject: "key_admin", ...BY_HAND }, now);
  return path;
}
