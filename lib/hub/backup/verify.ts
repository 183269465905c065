import { openBlobs } from "../blobs/open.ts";
import type { Blobs } from "../blobs/port.ts";
import { type BlobVersion, knownBlobs, totalOfBlobs, versionOfBlob } from "../records/blobs.ts";
import { allRows, type CopiedRow, CopiedTables } from "../records/copy.ts";
import type { RecordHooks } from "../records/hooks.ts";
import { tablesOf } from "../records/schema.ts";
import { type HubStorage, openHubStorage } from "../storage/open.ts";
import { type CopyProgress, recordsOf } from "./backup.ts";
import { type BlobFault, faultOfBlob } from "./copy-blobs.ts";
import { type BackupTrust, readBackupManifest } from "./manifest.ts";
import { Omissions } from "./omissions.ts";

/** Fault of a stored artifact, with the version to publish again, or of a record. */
export interface StorageFault extends Partial<BlobVersion> {
  table: string;
  id: string;
  /** A code for an artifact, text for a record. */
  fault: BlobFault | (string & {});
}

export interface VerifyResult {
  /** Number of artifacts compared. */
  checked: number;
  /** Bytes read. */
  bytes: number;
  findings: number;
}

export interface VerifyOptions {
  /** Compares sizes only, without reading the bytes. */
  quick: boolean;
  onFinding: (finding: StorageFault) => void;
  onProgress?: (progress: CopyProgress) => void;
  signal?: AbortSignal;
}

interface Verified {
  blobs: Blobs;
  tables: CopiedTables;
  rows: AsyncIterable<CopiedRow>;
  total: { count: number; bytes: number };
  /** Returns the version of a faulty blob; undefined if it was deleted meanwhile. */
  versionOf: (id: string) => Promise<Partial<BlobVersion> | undefined>;
}

async function verifyBlobs(
  { blobs, tables, rows, total, versionOf }: Verified,
  result: VerifyResult,
  { quick, onFinding, onProgress, signal }: VerifyOptions,
): Promise<void> {
  let last: CopiedRow | undefined;
  for await (const row of rows) {
    const before = last?.table === row.table ? last.row : undefined;
    const disorder = tables.table(row.table).faultAfter?.(row.row, before);
    if (disorder !== undefined) {
      result.findings++;
      onFinding({ ...tables.nameOf(row), fault: disorder });
    }
    last = row;
    const blob = tables.blobOf(row);
    if (blob === undefined) continue;
    signal?.throwIfAborted();
    const fault = await faultOfBlob(blobs, blob, quick, signal);
    const version = fault === undefined ? undefined : await versionOf(blob.id);
    if (fault !== undefined && version !== undefined) {
      result.findings++;
      onFinding({ table: row.table, id: blob.id, fault, ...version });
    }
    result.checked++;
    if (!quick) result.bytes += blob.size;
    const done = { artifacts: result.checked, bytes: result.bytes };
    onProgress?.({ ...done, total_artifacts: total.count, total_bytes: total.bytes });
  }
}

/** Collects damaged records as findings. */
const findingsOf = (tables: CopiedTables, result: VerifyResult, onFinding: VerifyOptions["onFinding"]): Omissions =>
  new Omissions(tables, true, ({ table, id, reason, fault }) => {
    if (reason !== "damaged") return;
    result.findings++;
    onFinding({ table, id, fault });
  });

/** Checks every record of a hub against its schema and its blob, beside the running hub. */
export async function verifyHub(
  storage: HubStorage,
  options: VerifyOptions,
): Promise<VerifyResult & { /** Blobs without a record, left by a crash. */ unrecorded: number }> {
  await using opened = await openHubStorage(storage);
  const { database, blobs } = opened;
  const result: VerifyResult = { checked: 0, bytes: 0, findings: 0 };
  const tables = new CopiedTables(database.tables);
  const rows = findingsOf(tables, result, options.onFinding).leave(allRows(database));
  const total = await totalOfBlobs(database.kysely);
  await verifyBlobs(
    { blobs, tables, rows, total, versionOf: (id) => versionOfBlob(database.kysely, id) },
    result,
    options,
  );
  let unrecorded = 0;
  let batch: string[] = [];
  const countUnrecorded = async (): Promise<void> => {
    if (batch.length > 0) unrecorded += batch.length - (await knownBlobs(database.kysely, batch)).size;
    batch = [];
  };
  for await (const { id } of blobs.list()) if (batch.push(id) === 500) await countUnrecorded();
  await countUnrecorded();
  return { ...result, unrecorded };
}

/**
 * Checks a backup: its manifest, every record and every artifact.
 *
 * @param hooks of the features, for their tables
 * @throws as {@link readBackupManifest}
 */
export async function verifyBackup(
  folder: string,
  { trust, hooks }: { trust: BackupTrust; hooks: readonly RecordHooks[] },
  options: VerifyOptions,
): Promise<VerifyResult> {
  const manifest = await readBackupManifest(folder, trust);
  const result: VerifyResult = { checked: 0, bytes: 0, findings: 0 };
  const tables = new CopiedTables(tablesOf(hooks));
  const omissions = findingsOf(tables, result, options.onFinding);
  for (const omission of manifest.left_out) omissions.add({ ...omission, reason: "deleted" });
  const rows = recordsOf(folder, { manifest, omissions, isSigned: trust !== "unsigned" });
  const blobs = await openBlobs(folder, undefined);
  const verified = { blobs, tables, rows, total: manifest.artifacts, versionOf: () => Promise.resolve({}) };
  await verifyBlobs(verified, result, options);
  return result;
}
