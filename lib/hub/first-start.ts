import { chmod, mkdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { usageError } from "../contract/errors.ts";
import { syncFolder, writeFileAtomic } from "../support/files.ts";
import { hashOf, issue } from "./access/credentials.ts";
import { newKek, writeKekFile } from "./keys/kek-file.ts";
import { knowsKeks } from "./records/keks.ts";
import { adminKeyHash, insertAdminKey } from "./records/keys.ts";
import type { Database } from "./records/port.ts";

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );

/** Creates the data dir, private to the hub's user. */
export async function prepareDataDir(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true });
  await chmod(dataDir, 0o700);
}

/**
 * Creates the KEK file of a new hub. A database that knows KEKs has lost its file instead: a new one would hide that every stored
 * key is unreadable.
 */
export async function prepareKekFile(path: string, database: Database, now: number): Promise<void> {
  if (await exists(path)) return;
  if (await knowsKeks(database.kysely)) {
    throw usageError("credential_unreadable", `The KEK file ${path} is missing, and the database needs its keys.`, {
      hint: "Restore the file from its backup, or name it with --kek-file.",
    });
  }
  await writeKekFile(path, [newKek(now)]);
}

/**
 * Creates the one administrator key of a new hub and writes it to `<data-dir>/admin.key` (0600). The key is written beside its
 * place before it is registered, so that a crash in between loses neither the key nor the file.
 */
export async function prepareAdminKey(dataDir: string, database: Database, now: string): Promise<void> {
  const path = join(dataDir, "admin.key");
  const pending = join(dataDir, "admin.key.pending");
  const adopt = async () => {
    await rename(pending, path);
    await syncFolder(dataDir);
  };
  const registered = await adminKeyHash(database.kysely);
  if (registered !== undefined) {
    const left = await readFile(pending, "utf8").catch(() => undefined);
    if (left === undefined) return;
    if (hashOf(left.trim()) === registered) await adopt();
    else await rm(pending, { force: true });
    return;
  }
  const key = issue("key");
  await writeFileAtomic(pending, `${key}\n`, { mode: 0o600 });
  if (await insertAdminKey(database.kysely, key, now)) await adopt();
  else await rm(pending, { force: true });
}
