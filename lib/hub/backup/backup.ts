import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { finished } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import * as z from "zod";
import { usageError } from "../../contract/errors.ts";
import { writeFileAtomic } from "../../support/files.ts";
import { openBlobs } from "../blobs/open.ts";
import type { Blobs } from "../blobs/port.ts";
import { blobOf, type CopiedRow, isCopiedTable, openSnapshot, replaceRows } from "../records/copy.ts";
import { findKeks } from "../records/keks.ts";
import { type HubStorage, openHubDatabase, openHubStorage } from "../storage.ts";
import { type CopiedBlobs, copyBlobs, type ExpectedBlob } from "./copy-blobs.ts";

export interface BackupResult extends CopiedBlobs {
  records: number;
}

type Progress = (total: CopiedBlobs) => void;

const RECORDS_FILE = "records.ndjson.gz";
const MANIFEST_FILE = "backup.json";
const manifest = z.object({ format: z.literal(1), created_at: z.string(), records: z.int().nonnegative() });

async function* blobsOf(rows: AsyncIterable<CopiedRow>): AsyncGenerator<ExpectedBlob> {
  for await (const row of rows) {
    const blob = blobOf(row);
    if (blob !== undefined) yield blob;
  }
}

async function writeRows(path: string, rows: AsyncIterable<CopiedRow>): Promise<number> {
  const zip = createGzip();
  const file = createWriteStream(path, { mode: 0o600, flush: true });
  zip.pipe(file);
  let count = 0;
  for await (const { table, row } of rows) {
    count++;
    if (!zip.write(`${JSON.stringify([table, row])}\n`)) await once(zip, "drain");
  }
  zip.end();
  await finished(file);
  return count;
}

async function* readRows(path: string): AsyncGenerator<CopiedRow> {
  const file = createReadStream(path);
  const unzip = createGunzip();
  file.on("error", (error) => unzip.destroy(error));
  try {
    for await (const line of createInterface({ input: file.pipe(unzip), crlfDelay: Number.POSITIVE_INFINITY })) {
      const [table, row] = JSON.parse(line) as [string, CopiedRow["row"]];
      // A table of a later version.
      if (!isCopiedTable(table))
        throw usageError("usage", `The backup holds a table ${table}, which is not known here.`);
      yield { table, row };
    }
  } finally {
    file.destroy();
  }
}

/**
 * Backs a hub up to a folder, beside the running hub: first all records as they are at one moment, then the artifacts
 * that they name. What the folder holds from an earlier backup is not copied again. The KEKs are not in it: they are
 * kept apart.
 */
export async function backupHub(storage: HubStorage, folder: string, onProgress?: Progress): Promise<BackupResult> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const pending = join(folder, `${RECORDS_FILE}.pending`);
  let records: number;
  {
    await using opened = await openHubDatabase(storage);
    await using snapshot = await openSnapshot(opened.database);
    records = await writeRows(pending, snapshot.rows());
  }
  const from = await openBlobs(storage.dataDir, storage.blobUrl);
  const to = await openBlobs(folder, undefined);
  const copied = await copyBlobs(from, to, blobsOf(readRows(pending)), onProgress);
  // The records of this backup take the place of the last one's when everything that they name is there.
  await rename(pending, join(folder, RECORDS_FILE));
  const facts = { format: 1, created_at: new Date().toISOString(), records };
  await writeFileAtomic(join(folder, MANIFEST_FILE), `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 });
  return { records, ...copied };
}

/**
 * Restores a backup into a new database and blob storage. The hub that is then started on them needs the KEKs that it
 * had.
 *
 * @throws UsageError `usage` when the folder holds no backup, or the database is in use
 */
export async function restoreHub(folder: string, storage: HubStorage, onProgress?: Progress): Promise<BackupResult> {
  const text = await readFile(join(folder, MANIFEST_FILE), "utf8").catch(() => "");
  const parsed = manifest.safeParse(text === "" ? undefined : JSON.parse(text));
  if (!parsed.success) throw usageError("usage", `The folder ${folder} holds no complete backup of a hub.`);
  const path = join(folder, RECORDS_FILE);
  const from = await openBlobs(folder, undefined);
  return copyInto(storage, { blobs: from, rows: () => readRows(path), onProgress });
}

/**
 * Copies a hub to another database and blob storage, beside the running hub. Run again, it brings the copy up to date:
 * once with the hub running, and once more when it has been stopped.
 *
 * @throws UsageError `usage` when the target is the database of another hub
 */
export async function moveHub(source: HubStorage, target: HubStorage, onProgress?: Progress): Promise<BackupResult> {
  await using opened = await openHubStorage(source);
  const { database, blobs } = opened;
  await using snapshot = await openSnapshot(database);
  const keks = await findKeks(database.kysely);
  return await copyInto(target, { blobs, rows: () => snapshot.rows(), copyOf: keks, onProgress });
}

interface CopySource {
  blobs: Blobs;
  rows: () => AsyncIterable<CopiedRow>;
  /** KEKs of the hub that the target may be an earlier copy of. */
  copyOf?: ReadonlySet<string>;
  onProgress: Progress | undefined;
}

/** Artifacts first, then the records that name them: a hub that is started in between finds an empty database. */
async function copyInto(
  storage: HubStorage,
  { blobs, rows, copyOf = new Set(), onProgress }: CopySource,
): Promise<BackupResult> {
  await mkdir(storage.dataDir, { recursive: true, mode: 0o700 });
  await using opened = await openHubDatabase(storage, { mustExist: false });
  const { database } = opened;
  const known = await findKeks(database.kysely);
  if (known.size > 0 && known.isDisjointFrom(copyOf)) {
    throw usageError("usage", "The database that should take the records is that of another hub.", {
      hint: "Give a new database: --database-url, or another --data-dir.",
    });
  }
  const to = await openBlobs(storage.dataDir, storage.blobUrl);
  const copied = await copyBlobs(blobs, to, blobsOf(rows()), onProgress);
  const records = await replaceRows(database, rows());
  return { records, ...copied };
}
