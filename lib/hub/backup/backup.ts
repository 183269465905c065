import { rename } from "node:fs/promises";
import { join } from "node:path";
import { artifactError, usageError } from "../../contract/errors.ts";
import { makeFolder, makePrivateFolder } from "../../support/files.ts";
import { tryLock } from "../../support/process-lock.ts";
import { openBlobs } from "../blobs/open.ts";
import type { Blobs } from "../blobs/port.ts";
import { totalOfBlobs, versionOfBlob } from "../records/blobs.ts";
import { type CopiedRow, CopiedTables, openSnapshot, replaceRows } from "../records/copy.ts";
import { findKeks } from "../records/keks.ts";
import { tablesOf } from "../records/schema.ts";
import { type HubStorage, openHubDatabase, openHubStorage } from "../storage/open.ts";
import { type BlobFault, type CopiedBlobs, copyBlobs, type ExpectedBlob } from "./copy-blobs.ts";
import { type BackupManifest, type BackupTrust, readBackupManifest, writeBackupManifest } from "./manifest.ts";
import { type Omission, Omissions } from "./omissions.ts";
import { readRecords, type RecordsFacts, writeRecords } from "./records-file.ts";

export interface BackupResult extends CopiedBlobs {
  records: number;
  left_out: number;
}

/** Progress of a copy. */
export interface CopyProgress {
  artifacts: number;
  total_artifacts: number;
  bytes: number;
  total_bytes: number;
}

export interface CopyOptions {
  /** Skips damaged records, and records whose artifact is damaged. */
  skipDamaged?: boolean | undefined;
  onOmission?: (omission: Omission) => void;
  onProgress?: (progress: CopyProgress) => void;
  signal?: AbortSignal;
}

const RECORDS_FILE = "records.ndjson.gz";
const LOCK_FILE = "lock";

interface RecordedBlob extends ExpectedBlob {
  table: string;
}

async function* blobsOf(rows: AsyncIterable<CopiedRow>, tables: CopiedTables): AsyncGenerator<RecordedBlob> {
  for await (const row of rows) {
    const blob = tables.blobOf(row);
    if (blob !== undefined) yield { ...blob, table: row.table };
  }
}

/**
 * Copies blobs, reports progress, and leaves out those that cannot be copied. @param isDeleted tells whether the record
 * of a blob was deleted meanwhile
 */
async function copyKnown(
  { from, to, rows }: { from: Blobs; to: Blobs; rows: AsyncIterable<CopiedRow> },
  { omissions, total, isDeleted }: CopyContext,
  { onProgress, signal }: CopyOptions,
): Promise<CopiedBlobs> {
  const done = { artifacts: 0, bytes: 0 };
  return copyBlobs(from, to, blobsOf(rows, omissions.tables), {
    ...(signal && { signal }),
    async onFault({ table, id }, fault) {
      if (fault === "missing" && (await isDeleted(id)))
        omissions.add({ table, id, reason: "deleted", fault: "deleted meanwhile" });
      else omissions.damaged({ table, id }, SENTENCES[fault]);
    },
    onDone({ size }) {
      done.artifacts++;
      done.bytes += size;
      onProgress?.({ ...done, total_artifacts: total.count, total_bytes: total.bytes });
    },
  });
}

const SENTENCES: Record<BlobFault, string> = {
  missing: "its bytes are gone",
  wrong_size: "its bytes have another length",
  wrong_bytes: "its bytes are not what was published",
};

interface CopyContext {
  omissions: Omissions;
  total: { count: number; bytes: number };
  isDeleted: (id: string) => boolean | Promise<boolean>;
}

/**
 * Backs up a running hub: a snapshot of its records, then their artifacts that the folder does not have yet. KEKs are
 * not part of a backup.
 *
 * @param seed of the key that signs the backup
 * @throws UsageError `usage` when another backup to the folder is running
 * @throws ArtifactError `record_damaged`
 */
export async function backupHub(
  storage: HubStorage,
  folder: string,
  { seed, ...options }: CopyOptions & { seed?: Uint8Array | undefined } = {},
): Promise<BackupResult> {
  await makePrivateFolder(folder);
  using lock = tryLock(join(folder, LOCK_FILE));
  if (lock === undefined) throw usageError("usage", `Another backup is being made in ${folder}.`);
  await using opened = await openHubStorage(storage);
  const { database, blobs: from } = opened;
  const to = await openBlobs(folder, undefined);
  // Left by a backup that was killed: this process holds the lock, so nobody else writes here.
  await to.clearIncoming(0);
  const tables = new CopiedTables(database.tables);
  const omissions = new Omissions(tables, options.skipDamaged ?? false, options.onOmission);
  const pending = join(folder, `${RECORDS_FILE}.pending`);
  const total = { count: 0, bytes: 0 };
  let facts: RecordsFacts;
  {
    await using snapshot = await openSnapshot(database);
    const counted = async function* (): AsyncGenerator<CopiedRow> {
      for await (const row of omissions.leave(snapshot.rows())) {
        const blob = tables.blobOf(row);
        if (blob !== undefined) total.count++;
        total.bytes += blob?.size ?? 0;
        yield row;
      }
    };
    facts = await writeRecords(pending, counted(), options.signal);
  }
  const isDeleted = async (id: string) => (await versionOfBlob(database.kysely, id)) === undefined;
  const copied = await copyKnown(
    { from, to, rows: readRecords(pending, omissions) },
    { omissions, total, isDeleted },
    options,
  );
  // The new records replace the last backup's once everything that they name is there.
  await rename(pending, join(folder, RECORDS_FILE));
  const left_out = omissions.list;
  const created_at = new Date().toISOString();
  const manifest: BackupManifest = {
    format: 2,
    created_at,
    schema: [...tables.version],
    records: facts,
    artifacts: total,
    left_out,
  };
  await writeBackupManifest(folder, manifest, seed);
  return { records: sumOf(facts.counts), ...copied, left_out: left_out.length };
}

const sumOf = (counts: Record<string, number>): number => Object.values(counts).reduce((sum, each) => sum + each, 0);

/**
 * Restores a backup into a new database and blob storage. The restored hub needs the original KEKs.
 *
 * @param trust key that must have signed the backup
 * @throws UsageError `usage` when the folder holds no backup, or the database is in use
 * @throws ArtifactError `record_damaged`, `digest_mismatch`, and those of {@link readBackupManifest}
 */
export async function restoreHub(
  folder: string,
  storage: HubStorage,
  { trust, ...options }: CopyOptions & { trust: BackupTrust },
): Promise<BackupResult> {
  const manifest = await readBackupManifest(folder, trust);
  const tables = new CopiedTables(tablesOf(storage.hooks));
  if (!manifest.schema.every((name) => tables.version.includes(name)))
    throw usageError("usage", `The backup in ${folder} was made by a newer version of Sealift.`, {
      hint: "Restore it with that version, or a later one.",
    });
  if (!tables.takesRowsOf(manifest.schema))
    throw usageError("usage", `The backup in ${folder} was made by an earlier version of Sealift than 0.1.0.`, {
      hint: "Restore it with that version, and start this one on the hub's data folder and database.",
    });
  const omissions = new Omissions(tables, options.skipDamaged ?? false, options.onOmission);
  for (const omission of manifest.left_out) omissions.add(omission);
  return copyInto(storage, options, {
    from: await openBlobs(folder, undefined),
    rows: () => recordsOf(folder, { manifest, omissions, isSigned: trust !== "unsigned" }),
    copyOf: new Set(),
    context: { omissions, total: manifest.artifacts, isDeleted: () => false },
  });
}

/** Streams the intact records of a backup, and compares them with its manifest at the end. */
export async function* recordsOf(
  folder: string,
  { manifest, omissions, isSigned }: { manifest: BackupManifest; omissions: Omissions; isSigned: boolean },
): AsyncGenerator<CopiedRow> {
  let facts: RecordsFacts | undefined;
  const rows = readRecords(join(folder, RECORDS_FILE), omissions, { onEnd: (read) => (facts = read) });
  yield* omissions.leave(rows, manifest.schema);
  if (facts === undefined) return;
  if (facts.sha256 === manifest.records.sha256) return;
  const { counts } = facts;
  const expected = manifest.records.counts;
  const other = Object.keys({ ...counts, ...expected }).filter((table) => counts[table] !== expected[table]);
  const found = other.map((table) => `${counts[table] ?? 0} of ${expected[table] ?? 0} ${table}`).join(", ");
  const fault = `${RECORDS_FILE} is not the one that the manifest names${found === "" ? "" : `: it holds ${found}`}`;
  if (!isSigned) return omissions.damaged({ table: "records", id: RECORDS_FILE }, fault);
  throw artifactError("digest_mismatch", `The backup in ${folder} is not what was signed: ${fault}.`, {
    hint: "With --unsigned --skip-damaged, what can be read of it is taken. Look at it before you use it.",
  });
}

/**
 * Copies a running hub to another database and blob storage. Running it again brings the copy up to date: once while
 * the hub runs, and once more after it was stopped.
 *
 * @throws UsageError `usage` when the target is the database of another hub
 * @throws ArtifactError `record_damaged`
 */
export async function moveHub(
  source: HubStorage,
  target: HubStorage,
  options: CopyOptions = {},
): Promise<BackupResult> {
  await using opened = await openHubStorage(source);
  const { database, blobs } = opened;
  await using snapshot = await openSnapshot(database);
  const tables = new CopiedTables(database.tables);
  const omissions = new Omissions(tables, options.skipDamaged ?? false, options.onOmission);
  return await copyInto(target, options, {
    from: blobs,
    rows: () => omissions.leave(snapshot.rows()),
    copyOf: await findKeks(database.kysely),
    context: {
      omissions,
      total: await totalOfBlobs(database.kysely),
      isDeleted: async (id) => (await versionOfBlob(database.kysely, id)) === undefined,
    },
  });
}

interface CopySource {
  from: Blobs;
  rows: () => AsyncIterable<CopiedRow>;
  /** KEKs of the hub of which the target may hold an earlier copy. */
  copyOf: ReadonlySet<string>;
  context: CopyContext;
}

/** Copies artifacts first, then the records that name them: a hub started in between finds an empty database. */
async function copyInto(
  storage: HubStorage,
  options: CopyOptions,
  { from, rows, copyOf, context }: CopySource,
): Promise<BackupResult> {
  await makeFolder(storage.dataDir, 0o700);
  await using opened = await openHubDatabase(storage, { mustExist: false });
  const { database } = opened;
  const known = await findKeks(database.kysely);
  if (known.size > 0 && known.isDisjointFrom(copyOf)) {
    throw usageError("usage", "The database that should take the records is that of another hub.", {
      hint: "Give a new database: --database-url, or another --data-dir.",
    });
  }
  const to = await openBlobs(storage.dataDir, storage.blobUrl);
  const copied = await copyKnown({ from, to, rows: rows() }, context, options);
  const { omissions } = context;
  options.signal?.throwIfAborted();
  const records = await replaceRows(database, rows(), {
    onRefused: (row, why) => omissions.damaged(omissions.tables.nameOf(row), why),
    isWhole: () => omissions.isEmpty,
  });
  return { records, ...copied, left_out: omissions.list.length };
}
