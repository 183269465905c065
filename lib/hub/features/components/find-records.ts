import { sql } from "kysely";
import type { ComponentQuery } from "../../../contract/components/query.ts";
import type { Principal } from "../../base/principal.ts";
import { controlled } from "../../base/rights.ts";
import type { FleetKey } from "../../records/fleet.ts";
import type { Queries } from "../../records/port.ts";
import { SUBJECT_SQL } from "../../records/subjects.ts";
import { PUBLISHED } from "../../records/versions.ts";
import { own } from "./records.ts";

/** Most components examined for one name; each is a different version of it. */
const MOST_CANDIDATES = 10_000;
/** Values bound in one statement. */
const PART = 500;

/** Component with the name searched for. */
export interface NamedComponent {
  id: number;
  name: string;
  version: string;
  purl: string;
}

/** Version that contains one of the components. */
export interface Using {
  kind: "plugin" | "service" | "project";
  slug: string;
  /** Display name of the target. */
  name: string;
  version_id: string;
  version: string;
  component_id: number;
}

function* parts<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += PART) yield items.slice(at, at + PART);
}

export async function candidatesOf(
  db: Queries,
  { name, package: called }: Pick<ComponentQuery, "name" | "package">,
): Promise<NamedComponent[]> {
  const rows = await own(db)
    .selectFrom("components")
    .select(["id", "name", "version", "purl"])
    .$if(name !== undefined, (query) => query.where("name", "=", name!))
    .$if(called !== undefined, (query) => query.where("package", "=", called!))
    .limit(MOST_CANDIDATES)
    .execute();
  return rows.map((row) => ({ ...row, id: Number(row.id) }));
}

/** Condition on projects `p`: targets that the key controls, and those that its owner's hosts report. */
function visibleTo(principal: Principal) {
  const { owner, id } = controlled(principal);
  return sql<boolean>`(
    (${id === null ? sql`true` : sql`p.id = ${id}`} and ${owner === undefined ? sql`true` : sql`p.owner = ${owner}`})
    or exists (
      select 1 from views w where w.holder = ${principal.owner} and w.target = ${sql.raw(SUBJECT_SQL)}
    ))`;
}

/** Lists the versions whose SBOM is not indexed yet, of the same targets. @param limit on their number */
export const unindexedVersions = (
  db: Queries,
  principal: Principal,
  limit: number,
): Promise<Pick<Using, "kind" | "slug" | "name" | "version">[]> =>
  own(db)
    .selectFrom("component_lists as l")
    .innerJoin("blobs as b", "b.id", "l.blob_id")
    .innerJoin("versions as v", "v.id", "b.version_id")
    .innerJoin("projects as p", "p.id", "v.project_id")
    .select(["p.kind", "p.slug", "p.name", "v.version"])
    .where("l.is_complete", "=", 0)
    .where(PUBLISHED)
    .where(visibleTo(principal))
    .orderBy("l.id")
    .limit(limit)
    .execute();

/**
 * Finds the versions with one of the components: of targets that the key controls, and of those that its owner's hosts
 * report.
 */
export async function versionsWith(db: Queries, ids: readonly number[], principal: Principal): Promise<Using[]> {
  const found: Using[] = [];
  for (const part of parts(ids)) {
    const rows = await own(db)
      .selectFrom("component_uses as u")
      .innerJoin("component_lists as l", "l.id", "u.list_id")
      .innerJoin("blobs as b", "b.id", "l.blob_id")
      .innerJoin("versions as v", "v.id", "b.version_id")
      .innerJoin("projects as p", "p.id", "v.project_id")
      .select(["p.kind", "p.slug", "p.name", "v.id as version_id", "v.version", "u.component_id"])
      .where("u.component_id", "in", part)
      .where("l.is_complete", "=", 1)
      .where(PUBLISHED)
      .where(visibleTo(principal))
      .execute();
    for (const row of rows) found.push({ ...row, component_id: Number(row.component_id) });
  }
  return found;
}

/** Counts the hosts of a fleet that run each of the versions. */
export async function countRunning(
  db: Queries,
  { holder, target }: FleetKey,
  labels: readonly string[],
): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const part of parts(labels)) {
    const rows = await db
      .selectFrom("hosts")
      .select(["shown_version", (eb) => eb.fn.countAll<number | string>().as("count")])
      .where("holder", "=", holder)
      .where("target", "=", target)
      .where("shown_version", "in", part)
      .groupBy("shown_version")
      .execute();
    for (const { shown_version: label, count } of rows) found.set(label, Number(count));
  }
  return found;
}

/** Finds the hosts of a fleet that run one of the versions. @param limit on hosts in all */
export async function runningHosts(
  db: Queries,
  { holder, target }: FleetKey,
  labels: readonly string[],
  limit: number,
): Promise<Map<string, string[]>> {
  const rows = await db
    .selectFrom("hosts")
    .select(["shown_version", "host_id"])
    .where("holder", "=", holder)
    .where("target", "=", target)
    .where("shown_version", "in", labels)
    .orderBy("host_id")
    .limit(limit)
    .execute();
  const found = new Map<string, string[]>();
  for (const { shown_version: label, host_id: host } of rows) found.set(label, [...(found.get(label) ?? []), host]);
  return found;
}
