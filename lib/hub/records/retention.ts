import { sql } from "kysely";
import type { Dialect, Queries } from "./port.ts";
import { type Project, versionTable } from "./projects.ts";
import { loggedTarget } from "./reports.ts";

/** Versions of a host that it may go back to: the one that it runs, and the one before. */
const VERSIONS_OF_HOST = 2;

/** A stored version, as retention looks at it. */
export interface StoredVersion {
  version: string;
  createdAt: string;
  bytes: number;
}

/** The versions of a project, plugin or service, newest first. */
export async function storedVersions(db: Queries, { id, kind }: Project): Promise<StoredVersion[]> {
  const { versions, project } = versionTable(kind);
  const { rows } = await sql<{ version: string; created_at: string; bytes: number }>`
    select version, created_at, size_bytes as bytes from ${versions} where ${project} = ${id} order by id desc
  `.execute(db);
  return rows.map(({ version, created_at: createdAt, bytes }) => ({ version, createdAt, bytes: Number(bytes) }));
}

/** Finds the versions that hosts need: those that they run, and the last two that each deployed, for a rollback. */
export async function neededVersions(db: Queries, dialect: Dialect, project: Project): Promise<Set<string>> {
  const target = project.kind === "project" ? project.id : loggedTarget(project.kind, project.slug);
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
