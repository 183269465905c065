import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { usageError } from "../../contract/errors.ts";
import { ifThere, statsOf, writeFileAtomic } from "../../support/files.ts";
import type { Blobs } from "../blobs/port.ts";
import { knownBlobs } from "../records/blobs.ts";
import { findKeks } from "../records/keks.ts";
import type { Database } from "../records/port.ts";

/** File in the data folder that names the database it belongs to. */
const CLAIM_FILE = "database-id";
/** Blobs looked up in the database before it may claim an unclaimed storage. */
const SAMPLE_BLOBS = 500;

/** Returns an id of a database that reveals none of its secrets. @param key secret key of the database */
export const databaseId = (key: Buffer): string => createHash("sha256").update("blobs").update(key).digest("hex");

const claimOf = async (dataDir: string): Promise<string | undefined> =>
  (await ifThere(readFile(join(dataDir, CLAIM_FILE), "utf8")))?.trim();

const HINT =
  "Check --database-url, that every volume is mounted, and --data-dir and --blob-url. A new hub gets a new data folder and blob storage.";

async function sampleOf(blobs: Blobs): Promise<string[]> {
  const sample: string[] = [];
  for await (const { id } of blobs.list()) {
    sample.push(id);
    if (sample.length === SAMPLE_BLOBS) break;
  }
  return sample;
}

/**
 * Rejects a new database where an older one was in use: a wrong URL or a missing mount must not become an empty hub.
 *
 * @throws UsageError `usage`
 */
export async function refuseForeignStorage(dataDir: string, database: Database, blobs: Blobs): Promise<void> {
  if ((await findKeks(database.kysely)).size > 0) return;
  const refuse = (what: string) =>
    usageError("usage", `The database is new, but ${what}: this is not the database that belongs here.`, {
      hint: HINT,
    });
  if ((await claimOf(dataDir)) !== undefined || (await statsOf(join(dataDir, "admin.key"))) !== undefined) {
    throw refuse(`the data folder ${dataDir} has been used with another one`);
  }
  if ((await blobs.owner()) !== undefined || (await sampleOf(blobs)).length > 0) {
    throw refuse(`${blobs.name} holds artifacts of another one`);
  }
}

/**
 * Claims the data folder and the blob storage for this database, before anything may be removed from them.
 *
 * @throws UsageError `usage` when one of them belongs to another database
 */
export async function claimStorage(dataDir: string, database: Database, blobs: Blobs, id: string): Promise<void> {
  const claimed = await claimOf(dataDir);
  if (claimed !== undefined && claimed !== id) {
    throw usageError("usage", `The data folder ${dataDir} belongs to another database.`, { hint: HINT });
  }
  let owner = await blobs.owner();
  if (owner === undefined) {
    // An unclaimed storage whose blobs are all unknown to this database belongs to another one.
    const sample = await sampleOf(blobs);
    const known = sample.length === 0 ? undefined : await knownBlobs(database.kysely, sample);
    if (known?.size === 0) {
      throw usageError("usage", `The database knows nothing of what is in ${blobs.name}.`, { hint: HINT });
    }
  }
  // Claiming writes: a hub starts on a full disk that it owns already.
  owner ??= await blobs.claim(id);
  if (owner !== id) {
    throw usageError("usage", `Another hub's database has its blobs in ${blobs.name}.`, {
      hint: "Give each database a folder, bucket or prefix of its own: --blob-url s3://bucket/prefix.",
    });
  }
  if (claimed === undefined) await writeFileAtomic(join(dataDir, CLAIM_FILE), `${id}\n`, { mode: 0o600 });
}
