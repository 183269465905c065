import { sql } from "kysely";
import type { Dialect, Queries } from "./port.ts";
import type { Project } from "./projects.ts";
import { subjectOf } from "./subjects.ts";

/** Versions that a host may need: the running one and the previous one. */
const VERSIONS_OF_HOST = 2;

/** Stored version, as retention sees it. */
export interface StoredVersion {
  version: string;
  createdAt: string;
  bytes: number;
}

/**
 * Lists the versions of a project, plugin or service, newest first. Leaves out staged ones, which are not published
 * yet.
 */
export async function storedVersions(
  db: Queries,
  { id }: Pick<Project, "id">,
): Promise<(StoredVersion & { isRolling: boolean })[]> {
  const rows = await db
    .selectFrom("versions as v")
    .innerJoin("blobs as b", "b.id", "v.id")
    .select(["v.version", "v.created_at", "v.state", "b.size_bytes"])
    .where("v.project_id", "=", id)
    .orderBy("v.id", "desc")
    .execute();
  const published = rows.filter(({ state }) => state !== "staged");
  return published.map(({ version, created_at: createdAt, size_bytes: bytes, state }) => {
    return { version, createdAt, bytes: Number(bytes), isRolling: state === "rolling" };
  });
}

/** Finds the versions that hosts need: those that they run, and the last two that each deployed, for a rollback. */
export async function neededVersions(db: Queries, dialect: Dialect, project: Project): Promise<Set<string>> {
  const target = subjectOf(project);
  const running =
    dialect === "postgres" ? sql`record::json ->> 'running_version'` : sql`json_extract(record, '$.running_version')`;
  const { rows } = await sql<{ version: string | null }>`
    select distinct version from (
      select version, row_number() over (partition by holder, host_id order by max(id) desc) as place
      from reports where target = ${target} and status = 'success' group by holder, host_id, version
    ) deployed where place <= ${VERSIONS_OF_HOST}
    union select ${running} from hosts where target = ${target}`.execute(db);
  return new Set(rows.flatMap(({ version }) => version ?? []));
}
