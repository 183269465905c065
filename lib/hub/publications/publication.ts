import type { IncomingBlob } from "../blobs/port.ts";
import type { HubContext } from "../context.ts";
import { HubError } from "../http/errors.ts";

/** An upload or import that was received whole and found sound, on its way to become a version. */
export interface Publication<Version extends { id: string; version: string }> {
  /** Id of the new record, and of its blob. */
  id: string;
  blob: IncomingBlob;
  /** Stores the record in one transaction. @returns the one that has the version now: the new one, or an earlier one */
  insert: () => Promise<Version>;
  /** Whether an earlier record is of the very same bytes. */
  isSame: (existing: Version) => boolean;
  /** What the refusal says of an earlier record of other bytes. */
  differs: (existing: Version) => { what: string; contentSha256: string };
}

/** A version with whether this publication made it. */
export interface Published<Version> {
  record: Version;
  created: boolean;
}

/**
 * Publishes what was received and verified: the bytes first, durably, then the record that makes them visible. Of two publishers of
 * one version, one wins; the other's bytes are removed. The caller discards the blob.
 *
 * @throws HubError 409 when the version exists with other bytes
 */
export async function publish<Version extends { id: string; version: string }>(
  { blobs }: HubContext,
  { id, blob, insert, isSame, differs }: Publication<Version>,
): Promise<Published<Version>> {
  await blob.commit(id);
  let record: Version;
  try {
    record = await insert();
  } catch (error) {
    await blobs.remove(id);
    throw error;
  }
  if (record.id === id) return { record, created: true };
  await blobs.remove(id);
  if (isSame(record)) return { record, created: false };
  const { what, contentSha256 } = differs(record);
  throw new HubError(409, "version_exists", `Version ${record.version} is published already, with ${what}.`, {
    fields: { content_sha256: contentSha256 },
  });
}
