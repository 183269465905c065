import { setTimeout as sleep } from "node:timers/promises";
import type { IncomingBlob } from "../blobs/port.ts";
import type { HubContext } from "../context.ts";
import { HubError } from "../http/errors.ts";
import { concernsConnection } from "../storage-error.ts";

/** Pause and number of times that the database is asked what became of a commit that it did not answer. */
const UNCLEAR_COMMIT_MS = 5000;
const UNCLEAR_COMMIT_POLL_MS = 250;

/** An upload or import that was received whole and found sound, on its way to become a version. */
export interface Publication<Version extends { id: string; version: string }> {
  /** Id of the new record, and of its blob. */
  id: string;
  blob: IncomingBlob;
  /**
   * Stores the record in one transaction.
   *
   * @param lost id of an earlier record of the version whose blob is gone: the new one takes its place
   * @returns the record that has the version now: the new one, or an earlier one
   */
  insert: (lost?: string) => Promise<Version>;
  /** The record of the new id, when there is one. */
  find: () => Promise<Version | undefined>;
  /** Whether an earlier record is of the very same bytes. */
  isSame: (existing: Version) => boolean;
  /** Whether an earlier record is of the same content, so that the new bytes can stand for it. */
  isSameContent: (existing: Version) => boolean;
  /** The words of a refusal because of an earlier record with other bytes. */
  differs: (existing: Version) => { what: string; contentSha256: string };
}

/** A version with whether this publication made it. */
export interface Published<Version> {
  record: Version;
  created: boolean;
}

/**
 * Publishes what was received and verified: the bytes first, durably, then the record that makes them visible. Of two publishers of
 * one version, one wins. A version whose bytes the hub has lost can be published again. The caller discards the blob.
 *
 * @throws HubError 409 when the version exists with other bytes
 */
export async function publish<Version extends { id: string; version: string }>(
  { blobs }: HubContext,
  publication: Publication<Version>,
): Promise<Published<Version>> {
  const { id, blob, isSame, isSameContent, differs } = publication;
  await blob.commit(id);
  const insert = async (lost?: string): Promise<Version> => {
    try {
      return await insertOrAsk(publication, lost);
    } catch (error) {
      // An answer that was lost may be that of a commit: the sweep removes what nobody has recorded.
      if (!concernsConnection(error)) await blobs.remove(id);
      throw error;
    }
  };
  let record = await insert();
  if (record.id !== id && isSameContent(record) && (await blobs.size(record.id)) === undefined) {
    record = await insert(record.id);
  }
  if (record.id === id) return { record, created: true };
  await blobs.remove(id);
  if (isSame(record)) return { record, created: false };
  const { what, contentSha256 } = differs(record);
  throw new HubError(409, "version_exists", `Version ${record.version} is published already, with ${what}.`, {
    fields: { content_sha256: contentSha256 },
  });
}

/** Inserts the record. When the connection was lost meanwhile, the database is asked whether it has committed. */
async function insertOrAsk<Version extends { id: string; version: string }>(
  { insert, find }: Publication<Version>,
  lost: string | undefined,
): Promise<Version> {
  try {
    return await insert(lost);
  } catch (error) {
    if (!concernsConnection(error)) throw error;
    for (const until = performance.now() + UNCLEAR_COMMIT_MS; performance.now() < until;) {
      try {
        const found = await find();
        if (found !== undefined) return found;
        break;
      } catch (again) {
        if (!concernsConnection(again)) throw again;
      }
      await sleep(UNCLEAR_COMMIT_POLL_MS);
    }
    throw error;
  }
}
