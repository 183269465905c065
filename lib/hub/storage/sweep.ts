import type { BlobEntry, Blobs } from "../blobs/port.ts";
import { countBlobRecords, knownBlobs, lostBlobs } from "../records/blobs.ts";
import type { Database } from "../records/port.ts";

/** Blobs that are looked up in the database at once. */
const BATCH_BLOBS = 500;
/** Blobs without a record that crashes explain. More than these, and than their share of all, stay in place. */
const EXPLAINED_BLOBS = 20;
const EXPLAINED_PART = 0.01;
/** A record that is younger may belong to a blob that was stored after the listing began. */
const SETTLED_MS = 10 * 60 * 1000;
/** Lost blobs that are reported one by one. */
const MAX_LOST_TOLD = 100;

export interface SweepOptions {
  /** Younger blobs without a record may be about to get one, also by another hub on the same storage. */
  minAgeMs: number;
  /** The time that the trash keeps what it was given. */
  trashAgeMs: number;
  /** Milliseconds since 1970. */
  now: number;
}

export interface SweepResult {
  /** Blobs with a record. */
  known: number;
  /** Blobs without one, moved to the trash now. */
  trashed: number;
  /** Blobs without one that were left in place: too many to be leftovers of crashes. */
  unexplained: number;
  /** Blobs of the trash that have a record after all, and were put back. */
  takenBack: number;
  /** Blobs that left the trash for good. */
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

/** Compares blobs with records. A blob without one goes to the trash, and after days for good. */
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

/** Ids begin with their time (`recordId`). */
const createdAt = (id: string): number => Number.parseInt(id.slice(4, 16), 16);

/** Asks for each record whether its blob is there. */
async function findLost({ database, blobs }: { database: Database; blobs: Blobs }): Promise<string[]> {
  const lost: string[] = [];
  for await (const id of lostBlobs(database.kysely, (each) => blobs.size(each))) {
    lost.push(id);
    if (lost.length === MAX_LOST_TOLD) break;
  }
  return lost;
}
