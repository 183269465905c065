import { sql } from "kysely";
import type { TargetOrder } from "../../contract/marketplace/routes.ts";
import type { TargetSummary } from "../../contract/surfaces/marketplace.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import type { Principal } from "../base/principal.ts";
import { controls, seesStaged, VISIBLE } from "../base/rights.ts";
import { KEY_COLUMNS, type KeyRow, principalOf } from "./access.ts";
import { joinPollingHost, POLLING_HOST, type PollingHost, pollingHostOf } from "./polling-host.ts";
import type { PageRange, PreparedStatements, Queries, StatementRow } from "./port.ts";
import type { Project } from "./projects.ts";
import { patternOf } from "./rows.ts";
import { SUBJECT_SQL } from "./subjects.ts";
import { targetSummary } from "./target-detail.ts";

/** SQL of the caller: always one row, with the live key if there is one. */
const CALLER = `(SELECT CAST(? AS text) AS hash, CAST(? AS text) AS moment) q
  LEFT JOIN api_keys k ON k.hash = q.hash AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > q.moment)`;

const TARGET = `LEFT JOIN projects p ON p.kind = ? AND p.slug = ? AND ${VISIBLE}`;

/** SQL of the host in the view of the caller's own reports. */
const HOST = joinPollingHost("k.owner", SUBJECT_SQL);

const FIND = `SELECT ${KEY_COLUMNS}, p.id AS target_id, p.owner AS target_owner, p.detail, p.detail_etag, p.latest_version,
    p.gate, ${POLLING_HOST}
  FROM ${CALLER} ${TARGET} ${HOST}`;

const FIND_VERSION = `SELECT ${KEY_COLUMNS}, p.id AS target_id, p.owner AS target_owner, p.latest_version, p.gate,
    v.id AS version_id, v.version, b.size_bytes, b.sha256, v.archive_signature, v.repo, v.state, v.published_by,
    b.signature, b.signer_public_key, ${POLLING_HOST}
  FROM ${CALLER} ${TARGET} ${HOST}
  LEFT JOIN versions v ON v.project_id = p.id AND v.version = COALESCE(CAST(? AS text), p.latest_version)
  LEFT JOIN blobs b ON b.id = v.id`;

/**
 * SQL of artifacts, deltas and indexes: needs a live key and no further rights, since the key has already located the
 * bytes.
 */
const SHOWN = `SELECT k.id AS key_id,
    CASE WHEN p.id IS NOT NULL THEN b.size_bytes END AS size, b.sha256
  FROM (SELECT CAST(? AS text) AS id, CAST(? AS text) AS blob, CAST(? AS text) AS moment) q
  JOIN api_keys k ON k.id = q.id AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > q.moment)
  LEFT JOIN blobs b ON b.id = q.blob
  LEFT JOIN projects p ON p.id = b.project_id AND ${VISIBLE}`;

const MATCHES = `(CAST(? AS text) = '' OR lower(p.slug) LIKE ? ESCAPE '!' OR lower(p.name) LIKE ? ESCAPE '!'
    OR lower(COALESCE(p.description, v.description, '')) LIKE ? ESCAPE '!')`;

/** SQL of a target's place in a list. It is also the cursor, so names are cut to the longest cursor. */
const BY_NAME = "substr(lower(p.name), 1, 100) || ' ' || p.slug";

/** SQL of a target's latest version `v`, which describes the target unless a person does. */
const LATEST = "LEFT JOIN versions v ON v.project_id = p.id AND v.version = p.latest_version";

const list = (place: string, after: string, order = place) =>
  `SELECT p.*, v.description AS described, ${place} AS place
  FROM ${CALLER} JOIN projects p ON p.kind = ? AND ${after} AND ${VISIBLE} ${LATEST}
  WHERE ${MATCHES} ORDER BY ${order} LIMIT ?`;

const LISTS: Record<TargetOrder, string> = {
  slug: list("p.slug", "p.slug > ?"),
  name: list(BY_NAME, `${BY_NAME} > ?`),
  // Ids sort by time, and all of them before the tilde.
  newest: list("p.id", "p.id < COALESCE(NULLIF(CAST(? AS text), ''), '~')", "p.id DESC"),
};

const COUNT = `SELECT COUNT(*) AS total FROM ${CALLER} JOIN projects p ON p.kind = ? AND ${VISIBLE} ${LATEST} WHERE ${MATCHES}`;

/** Caller, and the requested target. */
export interface TargetQuery {
  kind: MarketplaceKind;
  slug: string;
  /** SHA-256 of the key; undefined for an anonymous caller. */
  credentialHash: string | undefined;
  /** Polling host, if it names itself. */
  hostId?: string | undefined;
  /** Current time, ISO 8601. */
  now: string;
}

interface Viewer {
  /** Undefined without a live key. */
  principal: Principal | undefined;
}

export interface VisibleTarget {
  id: string;
  owner: string;
  latestVersion: string | null;
  /** Gate, as JSON. */
  gate: string | null;
  /** Polling host, where there is a gate and the host is in the view of the caller's reports. */
  host: PollingHost | undefined;
}

/** Target with its detail record, if the caller may see one. */
interface FoundTarget extends Viewer {
  target: (VisibleTarget & { detail: string; etag: string }) | undefined;
}

const askedBy = (row: StatementRow, now: string): Viewer => ({
  principal: row["key_id"] === null ? undefined : principalOf(row as unknown as KeyRow, now),
});

const targetOf = (row: StatementRow): VisibleTarget | undefined =>
  row["target_id"] === null
    ? undefined
    : {
        id: row["target_id"] as string,
        owner: row["target_owner"] as string,
        latestVersion: row["latest_version"] as string | null,
        gate: row["gate"] as string | null,
        host: pollingHostOf(row),
      };

/** Finds the caller's key and the target. A hidden target and a missing one give the same row. */
export async function findVisibleTarget(
  statements: PreparedStatements,
  { kind, slug, credentialHash, hostId, now }: TargetQuery,
): Promise<FoundTarget> {
  const row = (await statements.first(FIND, [credentialHash ?? null, now, kind, slug, hostId ?? null]))!;
  const target = targetOf(row);
  const { detail, detail_etag: etag } = row as { detail: string; detail_etag: string };
  return { ...askedBy(row, now), target: target && { ...target, detail, etag } };
}

/** Finds the name of a target that every key of an owner sees; undefined for a hidden and a missing one. */
export async function visibleName(
  db: Queries,
  { kind, slug, owner }: Pick<TargetQuery, "kind" | "slug"> & { owner: string },
): Promise<string | undefined> {
  const { rows } = await sql<{ name: string }>`SELECT p.name
    FROM (SELECT 'any' AS id, CAST(${owner} AS text) AS owner, CAST(NULL AS text) AS project_id, '' AS scopes) k
    JOIN projects p ON p.kind = ${kind} AND p.slug = ${slug} AND ${sql.raw(VISIBLE)}`.execute(db);
  return rows[0]?.name;
}

export interface VisibleVersion {
  id: string;
  version: string;
  sizeBytes: number;
  sha256: string;
  signature: string;
  repo: string | null;
  /** Signature of its author, and the key that made it, base64; null for a version without one. */
  author: { signature: string; key: string } | null;
}

/**
 * Finds the caller's key, the target, and one of its versions (`version` undefined for the latest) in one statement.
 */
export async function findVisibleVersion(
  statements: PreparedStatements,
  { kind, slug, credentialHash, hostId, now, version }: TargetQuery & { version: string | undefined },
): Promise<Viewer & { target: VisibleTarget | undefined; version: VisibleVersion | undefined }> {
  const parameters = [credentialHash ?? null, now, kind, slug, hostId ?? null, version ?? null];
  const row = (await statements.first(FIND_VERSION, parameters))!;
  const { principal } = askedBy(row, now);
  const target = targetOf(row);
  const isHidden =
    row["state"] === "staged" &&
    (principal === undefined ||
      target === undefined ||
      !controls(principal, target) ||
      !seesStaged(principal, row["published_by"] as string | null));
  return {
    principal,
    target,
    version:
      row["version_id"] === null || isHidden
        ? undefined
        : {
            id: row["version_id"] as string,
            version: row["version"] as string,
            sizeBytes: row["size_bytes"] as number,
            sha256: row["sha256"] as string,
            signature: row["archive_signature"] as string,
            repo: row["repo"] as string | null,
            author:
              row["signature"] === null
                ? null
                : { signature: row["signature"] as string, key: row["signer_public_key"] as string },
          },
  };
}

/**
 * Finds the bytes that a live key was given a URL for, if it may still see them. Undefined for a key that is not live;
 * `size` is null without such bytes.
 */
export async function findShownBytes(
  statements: PreparedStatements,
  { id, keyId, now }: { id: string; keyId: string; now: string },
): Promise<{ size: number; sha256: string } | { size: null } | undefined> {
  const row = (await statements.first(SHOWN, [keyId, id, now])) as { size: unknown; sha256: string } | undefined;
  if (row === undefined) return undefined;
  return row.size === null ? { size: null } : { size: Number(row.size), sha256: row.sha256 };
}

/** Target of a list, with its place there. */
export interface ListedTarget {
  place: string;
  summary: TargetSummary;
}

/** Lists visible targets after the place `after`; searches slug, name and description for `text`. */
export async function listVisibleTargets(
  statements: PreparedStatements,
  { kind, credentialHash, now }: Omit<TargetQuery, "slug">,
  { text, order, after, limit }: PageRange & { text: string; order: TargetOrder },
): Promise<ListedTarget[]> {
  const pattern = patternOf(text);
  const parameters = [credentialHash ?? null, now, kind, after, text, pattern, pattern, pattern, limit];
  const rows = await statements.all(LISTS[order], parameters);
  return (rows as unknown as (Project & { place: string; described: string | null })[]).map((row) => ({
    ...{ place: row.place, summary: targetSummary(row, row.described) },
  }));
}

/** Counts what {@link listVisibleTargets} lists on all pages. */
export async function countVisibleTargets(
  statements: PreparedStatements,
  { kind, credentialHash, now }: Omit<TargetQuery, "slug">,
  text: string,
): Promise<number> {
  const pattern = patternOf(text);
  const parameters = [credentialHash ?? null, now, kind, text, pattern, pattern, pattern];
  return Number((await statements.first(COUNT, parameters))!["total"]);
}
