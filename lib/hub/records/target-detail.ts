import { createHash } from "node:crypto";
import type { Selectable } from "kysely";
import type { TargetDetail, TargetSummary, VersionRecord } from "../../contract/surfaces/marketplace.ts";
import { type MarketplaceKind, paths } from "../../contract/surfaces/paths.ts";
import { byPrecedence } from "../../contract/versions.ts";
import type { VersionStatesTable } from "./latest/state-table.ts";
import { stateRecord, statesOf } from "./latest/states.ts";
import type { Transacted } from "./port.ts";
import type { Project } from "./projects.ts";
import { selectWhere } from "./rows.ts";
import type { VersionsTable } from "./version-tables.ts";

export type Version = Selectable<VersionsTable>;

/** @param state undefined for an open version */
export const versionRecord = (row: Version, state?: VersionStatesTable): VersionRecord => ({
  version: row.version,
  created_at: row.created_at,
  size_bytes: row.size_bytes,
  sha256: row.sha256,
  is_yanked: row.is_yanked !== 0,
  yanked_reason: row.yanked_reason,
  repo: row.repo,
  ...(state !== undefined && { state: stateRecord(state) }),
});

export const targetSummary = (target: Project): TargetSummary => ({
  id: target.id,
  name: target.name,
  slug: target.slug,
  kind: target.kind as MarketplaceKind,
  description: target.description,
  homepage: target.homepage,
  repository: target.repository,
  visibility: target.visibility,
  owner: target.owner,
  latest_version: target.latest_version ?? "",
  created_at: target.created_at,
});

/** Versions that a detail record lists; the rest is in the pages of `/versions`. */
const DETAIL_VERSIONS = 20;
/** Yanked versions that it lists beside them: a host that runs one may go back to a lower version. */
const DETAIL_YANKED = 100;

/** The detail record as it is stored and served: its text is made once per change, not once per request. */
export function detailOf(target: Project, versions: readonly VersionRecord[]): { detail: string; detail_etag: string } {
  const versionsUrl = `${paths.detail(target.kind as MarketplaceKind, target.slug)}/versions`;
  const record: TargetDetail = {
    ...targetSummary(target),
    versions: versions.toSorted(byPrecedence),
    versions_url: versionsUrl,
  };
  const detail = JSON.stringify(record);
  return { detail, detail_etag: createHash("sha256").update(detail).digest("hex") };
}

/** The newest versions, the newest yanked ones, and the latest one; each once. */
async function shownVersions(
  transaction: Transacted,
  targetId: string,
  latest: string | null,
): Promise<VersionRecord[]> {
  const stored = () => selectWhere(transaction, "releases", { target_id: targetId }).selectAll();
  const newest = await stored().orderBy("id", "desc").limit(DETAIL_VERSIONS).execute();
  const yanked = await stored().where("is_yanked", "=", 1).orderBy("id", "desc").limit(DETAIL_YANKED).execute();
  const best = latest === null ? [] : await stored().where("version", "=", latest).execute();
  const rows = [...new Map([...newest, ...yanked, ...best].map((row) => [row.id, row])).values()];
  const states = await statesOf(transaction, targetId);
  return rows.map((row) => versionRecord(row, states.get(row.version)));
}

/** Makes the detail record of a plugin or service anew, from its row as this transaction has left it. */
export async function renewedDetail(
  transaction: Transacted,
  { id, detail_etag: before }: Project,
  latest: string | null,
): Promise<{ columns: { detail: string; detail_etag: string }; isSame: boolean }> {
  const target = await selectWhere(transaction, "projects", { id }).selectAll().executeTakeFirstOrThrow();
  const shown = await shownVersions(transaction, id, latest);
  const columns = detailOf({ ...target, latest_version: latest }, shown);
  return { columns, isSame: columns.detail_etag === before };
}
