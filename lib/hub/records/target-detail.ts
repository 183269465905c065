import { createHash } from "node:crypto";
import { listTargetVersions } from "../../contract/marketplace/routes.ts";
import type { TargetDetail, TargetSummary, VersionRecord } from "../../contract/surfaces/marketplace.ts";
import { type MarketplaceKind, pathOf } from "../../contract/surfaces/paths.ts";
import { byPrecedence } from "../../contract/versions.ts";
import type { Transacted } from "./port.ts";
import type { Project } from "./projects.ts";
import { selectWhere } from "./rows.ts";
import { factsOf, findVersion, newestVersions, PUBLISHED, selectVersions, type Version } from "./versions.ts";

/** Converts a version to its form in the marketplace. */
export function versionRecord(row: Version): VersionRecord {
  const { state, ...facts } = factsOf(row);
  const { repo, signer_public_key: signer } = row;
  return {
    ...facts,
    repo,
    ...(signer !== null && { signer_public_key: signer }),
    ...(state !== undefined && { state }),
  };
}

/**
 * Converts a target to its form in lists.
 *
 * @param described description in the latest version's plugin.yaml, shown unless a person has given one
 */
export const targetSummary = (target: Project, described: string | null): TargetSummary => ({
  id: target.id,
  name: target.name,
  slug: target.slug,
  kind: target.kind as MarketplaceKind,
  description: target.description ?? described,
  homepage: target.homepage,
  repository: target.repository,
  visibility: target.visibility,
  owner: target.owner,
  latest_version: target.latest_version ?? "",
  created_at: target.created_at,
});

/** Versions in a detail record; the rest is in the pages of `/versions`. */
const DETAIL_VERSIONS = 20;
/** Yanked versions listed beside them: a host that runs one may go back to a lower version. */
const DETAIL_YANKED = 100;

/** Returns the detail record as stored and served: its text is built once per change, not once per request. */
export function detailOf(target: Project, rows: readonly Version[]): { detail: string; detail_etag: string } {
  const versionsUrl = pathOf(listTargetVersions[target.kind as MarketplaceKind], { slug: target.slug });
  const record: TargetDetail = {
    ...targetSummary(target, rows.find(({ version }) => version === target.latest_version)?.description ?? null),
    versions: rows.map(versionRecord).toSorted(byPrecedence),
    versions_url: versionsUrl,
    ...(target.root_version !== null && { root_version: target.root_version }),
  };
  const detail = JSON.stringify(record);
  return { detail, detail_etag: createHash("sha256").update(detail).digest("hex") };
}

/** Reads the newest versions, the newest yanked ones, and the latest one; each once. */
async function shownVersions(transaction: Transacted, targetId: string, latest: string | null): Promise<Version[]> {
  const newest = await newestVersions(
    transaction,
    targetId,
    { after: "", limit: DETAIL_VERSIONS },
    undefined,
  ).execute();
  const yanked = await selectVersions(transaction)
    .where("v.project_id", "=", targetId)
    .where("v.is_yanked", "=", 1)
    .where(PUBLISHED)
    .orderBy("v.id", "desc")
    .limit(DETAIL_YANKED)
    .execute();
  const isShown = latest === null || newest.some(({ version }) => version === latest);
  const best = isShown ? undefined : await findVersion(transaction, targetId, latest);
  const rows = [...newest, ...yanked, ...(best === undefined ? [] : [best])];
  return [...new Map(rows.map((row) => [row.id, row])).values()];
}

/** Rebuilds the detail record of a plugin or service from its row as of this transaction. */
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
