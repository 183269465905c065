import type { BlobEntry, Blobs } from "../blobs/port.ts";
import { countBlobRecords, knownBlobs, lostBlobs } from "../records/blobs.ts";
import type { Database } from "../records/port.ts";

/** Blobs looked up in the database per statement. */
const BATCH_BLOBS = 500;
/**
 * Number of unrecorded blobs that crashes explain. If there are more than these, and than the explained share, all stay
 * in place.
 */
const EXPLAINED_BLOBS = 20;
const EXPLAINED_PART = 0.01;
/** Age below which a record may belong to a blob stored after the listing began, in milliseconds. */
const SETTLED_MS = 10 * 60 * 1000;
/** Most lost blobs reported by id. */
const MAX_LOST_TOLD = 100;

export interface SweepOptions {
  /** Age below which an unrecorded blob stays, in milliseconds: a hub on the same storage may be about to record it. */
  minAgeMs: number;
  /** Time for which the trash keeps a blob, in milliseconds. */
  trashAgeMs: number;
  /** Milliseconds since 1970. */
  now: number;
}

export interface SweepResult {
  /** Blobs with a record. */
  known: number;
  /** Blobs without a record, moved to the trash now. */
  trashed: number;
  /** Blobs without a record that were left in place: too many to be leftovers of crashes. */
  unexplained: number;
  /** Blobs of the trash that do have a record, and were restored. */
  takenBack: number;
  /** Blobs removed from the trash for good. */
  removed: number;
  /** Records whose blob is gone: ids, at most {@link MAX_LOST_TOLD}. */
  lost: string[];
}

async function* inBatches<T>(items: AsyncIterable<T>): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < BATCH_BLOBS) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

const idsOf = (entries: readonly BlobEntry[]) => entries.map(({ id }) => id);

/** Compares blobs with records. Moves blobs without one to the trash, and removes them for good after days. */
export async function sweepBlobs(
  { database, blobs }: { database: Database; blobs: Blobs },
  { minAgeMs, trashAgeMs, now }: SweepOptions,
): Promise<SweepResult> {
  const db = database.kysely;
  const result: SweepResult = { known: 0, trashed: 0, unexplained: 0, takenBack: 0, removed: 0, lost: [] };
  for await (const batch of inBatches(blobs.listTrash())) {
    const known = await knownBlobs(db, idsOf(batch));
    for (const { id, since } of batch) {
      if (known.has(id)) {
        await blobs.takeBack(id);
        result.takenBack++;
      } else if (since <= now - trashAgeMs) {
        await blobs.removeFromTrash(id);
        result.removed++;
      }
    }
  }

  const inTrash = new Set<string>();
  for await (const { id } of blobs.listTrash()) inTrash.add(id);
  const orphans: string[] = [];
  let settled = 0;
  for await (const batch of inBatches(blobs.list())) {
    const known = await knownBlobs(db, idsOf(batch));
    for (const { id, since } of batch) {
      if (known.has(id)) {
        result.known++;
        if (createdAt(id) < now - SETTLED_MS) settled++;
      } else if (since <= now - minAgeMs && !inTrash.has(id)) orphans.push(id);
    }
  }
  if (orphans.length > Math.max(EXPLAINED_BLOBS, result.known * EXPLAINED_PART)) {
    result.unexplained = orphans.length;
  } else {
    for (const id of orphans) await blobs.moveToTrash(id);
    result.trashed = orphans.length;
  }
  if ((await countBlobRecords(db, now - SETTLED_MS)) > settled) result.lost = await findLost({ database, blobs });
  return result;
}

/** Returns the creation time of an id, which begins with it (`recordId`). */
const createdAt = (id: string): number => Number.parseInt(id.slice(4, 16), 16);

/** Checks for each record whether its blob exists. */
async function findLost({ database, blobs }: { database: Database; blobs: Blobs }): Promise<string[]> {
  const lost: string[] = [];
  for await (const id of lostBlobs(database.kysely, (each) => blobs.size(each))) {
    lost.push(id);
    if (lost.length === MAX_LOST_TOLD) break;
  }
  return lost;
}
