import { setTimeout as sleep } from "node:timers/promises";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import { HubError } from "../base/errors.ts";
import { concernsConnection } from "../base/storage-error.ts";
import type { Blobs, IncomingBlob } from "../blobs/port.ts";
import type { HubMetrics } from "../observability/hub-metrics.ts";
import { VersionDeleted } from "../records/deleted-versions.ts";
import type { Records, Transacted } from "../records/port.ts";

/** The time within which a commit that was not answered is asked for, from its beginning, and the pause between. */
const UNCLEAR_COMMIT_MS = 4500;
const UNCLEAR_COMMIT_POLL_MS = 250;

/** An upload or import that was received whole and found sound, on its way to become a version. */
export interface Publication<Version extends { id: string }> {
  /** The kind of upload, as the metrics count it. */
  kind: MarketplaceKind | "project" | "delta" | "index" | "statement";
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
  /** Whether an earlier record is of the same content, so that the new bytes can stand for it. */
  isSameContent: (existing: Version) => boolean;
  /** The refusal because of an earlier record; undefined when that is of the very same bytes. */
  refusal: (existing: Version) => HubError | undefined;
}

/** Writes down what was published, in the transaction that does it. */
export type OnPublished<Version> = (transaction: Transacted, record: Version) => Promise<void>;

/** The refusal of a version that exists with other bytes. */
export const versionExists = (version: string, what: string, contentSha256: string): HubError =>
  new HubError(409, "version_exists", `Version ${version} is published already, with ${what}.`, {
    fields: { content_sha256: contentSha256 },
  });

/** A version with whether this publication made it. */
export interface Published<Version> {
  record: Version;
  created: boolean;
}

/** The parts of the hub that publishing needs. */
export interface PublicationParts extends Records {
  blobs: Blobs;
  maxArtifactBytes: number;
  metrics: HubMetrics | undefined;
}

/**
 * Publishes what was verified: the bytes first, durably, then the record that makes them visible. Of two publishers of
 * a version one wins. A version whose bytes are lost can be published again. The caller discards the blob.
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
      // An answer that was lost may be that of a commit: the sweep removes what nobody has recorded.
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

/** Inserts the record. When the connection was lost meanwhile, the database is asked whether it has committed. */
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
