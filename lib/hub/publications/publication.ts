import { setTimeout as sleep } from "node:timers/promises";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import { HubError } from "../base/errors.ts";
import { concernsConnection } from "../base/storage-error.ts";
import type { Blobs, IncomingBlob } from "../blobs/port.ts";
import type { HubMetrics } from "../observability/hub-metrics.ts";
import { VersionDeleted } from "../records/deleted-versions.ts";
import type { Records, Transacted } from "../records/port.ts";

/** Time in which the outcome of an unanswered commit is queried, and the pause between queries, in milliseconds. */
const UNCLEAR_COMMIT_MS = 4500;
const UNCLEAR_COMMIT_POLL_MS = 250;

/** Upload or import that arrived whole and valid, on its way to becoming a version. */
export interface Publication<Version extends { id: string }> {
  /** Kind of upload, as the metrics count it. */
  kind: MarketplaceKind | "project" | "delta" | "index" | "statement";
  /** Id of the new record, and of its blob. */
  id: string;
  blob: IncomingBlob;
  /**
   * Stores the record in one transaction.
   *
   * @param lost id of an earlier record of the version whose blob is gone, which the new one replaces
   * @returns the record that the version now has: the new one, or an earlier one
   */
  insert: (lost?: string) => Promise<Version>;
  /** Finds the record of the new id, if it was stored. */
  find: () => Promise<Version | undefined>;
  /** Tells whether an earlier record has the same content, so that the new bytes can replace its own. */
  isSameContent: (existing: Version) => boolean;
  /** Returns the refusal because of an earlier record; undefined when that has the very same bytes. */
  refusal: (existing: Version) => HubError | undefined;
}

/** Writes the audit entry of a publication, in its transaction. */
export type OnPublished<Version> = (transaction: Transacted, record: Version) => Promise<void>;

/** Returns the refusal of a version that exists with other bytes. */
export const versionExists = (version: string, what: string, contentSha256: string): HubError =>
  new HubError(409, "version_exists", `Version ${version} is published already, with ${what}.`, {
    fields: { content_sha256: contentSha256 },
  });

/** Version, and whether this publication created it. */
export interface Published<Version> {
  record: Version;
  created: boolean;
}

/** Parts of the hub that publishing needs. */
export interface PublicationParts extends Records {
  blobs: Blobs;
  maxArtifactBytes: number;
  metrics: HubMetrics | undefined;
}

/**
 * Publishes verified bytes: stores them durably, then the record that makes them visible. Of two concurrent publishers
 * of a version one wins. A version whose bytes are lost can be published again. The caller discards the blob.
 *
 * @throws HubError 409 when the version exists with other bytes, or was deleted
 */
export async function publish<Version extends { id: string }>(
  { blobs, metrics }: PublicationParts,
  publication: Publication<Version>,
): Promise<Published<Version>> {
  const { kind, blob } = publication;
  try {
    const published = await store(blobs, publication);
    if (published.created) metrics?.published(kind, "created", blob.size);
    else metrics?.published(kind, "unchanged", 0);
    return published;
  } catch (error) {
    metrics?.published(kind, "refused", 0);
    throw error;
  }
}

async function store<Version extends { id: string }>(
  blobs: Blobs,
  publication: Publication<Version>,
): Promise<Published<Version>> {
  const { id, blob, isSameContent, refusal } = publication;
  await blob.commit(id);
  const insert = async (lost?: string): Promise<Version> => {
    try {
      return await insertOrAsk(publication, lost);
    } catch (error) {
      // The commit may have succeeded although its answer was lost; the sweep removes unrecorded blobs.
      if (!concernsConnection(error)) await blobs.remove(id);
      if (error instanceof VersionDeleted) throw labelTaken(error);
      throw error;
    }
  };
  let record = await insert();
  if (record.id !== id && isSameContent(record) && (await blobs.size(record.id)) === undefined) {
    record = await insert(record.id);
  }
  if (record.id === id) return { record, created: true };
  await blobs.remove(id);
  const refused = refusal(record);
  if (refused !== undefined) throw refused;
  return { record, created: false };
}

const labelTaken = ({ version, reason, deletedAt }: VersionDeleted): HubError =>
  new HubError(
    409,
    "version_deleted",
    `Version ${version} was deleted on ${deletedAt.slice(0, 10)}: ${reason}. Publish under another label.`,
  );

/** Inserts the record. If the connection is lost meanwhile, asks the database whether it has committed. */
async function insertOrAsk<Version extends { id: string }>(
  { insert, find }: Publication<Version>,
  lost: string | undefined,
): Promise<Version> {
  const until = performance.now() + UNCLEAR_COMMIT_MS;
  try {
    return await insert(lost);
  } catch (error) {
    if (!concernsConnection(error)) throw error;
    while (performance.now() < until) {
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
