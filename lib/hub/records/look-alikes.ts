import { sql } from "kysely";
import { MAX_LOOK_ALIKES, SKELETON, skeletonOf } from "../../contract/look-alikes.ts";
import { VISIBLE } from "../base/rights.ts";
import type { Queries } from "./port.ts";
import type { Project } from "./projects.ts";

/** {@link skeletonOf} a column as an SQL expression of both databases. */
const skeletonSql = (column: string): string =>
  SKELETON.reduce((text, [from, to]) => `replace(${text}, '${from}', '${to}')`, column);

/** Statement that indexes the skeletons of slugs, which are computed from them and stored nowhere else. */
export const SKELETON_INDEX = `create index projects_skeleton on projects ((${skeletonSql("slug")}), kind)`;

/** Those who hear of look-alikes: they see what a key of the owner sees that is bound to no target. */
export interface NameViewer {
  owner: string;
  isAdministrator: boolean;
}

/** Slug of another owner that looks like a new one. */
export interface LookAlike {
  slug: string;
  /** Whether the viewer may know that it exists. */
  isSeen: boolean;
}

/**
 * Finds plugins or services of other owners whose slug looks like that of a target, at most {@link MAX_LOOK_ALIKES}:
 * those that the viewer sees first, then the oldest. Projects have none: nobody types their slugs.
 */
export async function lookAlikes(
  db: Queries,
  { kind, slug, owner }: Pick<Project, "kind" | "slug" | "owner">,
  viewer: NameViewer,
): Promise<readonly LookAlike[]> {
  if (kind === "project") return [];
  const scopes = viewer.isAdministrator ? "admin" : "";
  const { rows } = await sql<{
    slug: string;
    seen: number;
  }>`SELECT p.slug, CASE WHEN ${sql.raw(VISIBLE)} THEN 1 ELSE 0 END AS seen
    FROM (SELECT 'any' AS id, CAST(${viewer.owner} AS text) AS owner, CAST(NULL AS text) AS project_id,
      CAST(${scopes} AS text) AS scopes) k
    JOIN projects p ON p.kind = ${kind} AND ${sql.raw(skeletonSql("p.slug"))} = ${skeletonOf(slug)}
    WHERE p.owner <> ${owner}
    ORDER BY seen DESC, p.id LIMIT ${MAX_LOOK_ALIKES}`.execute(db);
  return rows.map((row) => ({ slug: row.slug, isSeen: Number(row.seen) === 1 }));
}

/** Look-alikes that a viewer may know of, as answers tell them. */
export interface SeenLookAlikes {
  looks_like?: string[];
}

/** Returns the look-alikes that the viewer may know of. */
export function seenOf(found: readonly LookAlike[]): SeenLookAlikes {
  const slugs = found.filter(({ isSeen }) => isSeen).map(({ slug }) => slug);
  return slugs.length > 0 ? { looks_like: slugs } : {};
}
