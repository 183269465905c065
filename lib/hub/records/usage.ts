import { sql } from "kysely";
import type { Queries } from "./port.ts";

/** Subject of a quota: an owner with everything that is theirs, or one project, plugin or service by id. */
export type StorageHolder = `owner/${string}` | `project/${string}`;

/** Storage in use. */
export interface Usage {
  /** Bytes of artifacts, archives, deltas, indexes and reports. */
  bytes: number;
  versions: number;
}

/** Sums up what an owner or project stores. Reports of surface A count for their owner, others for the project. */
export async function usageOf(db: Queries, subject: StorageHolder): Promise<Usage> {
  const [kind, ...names] = subject.split("/");
  const name = names.join("/");
  const column = kind === "owner" ? sql.ref("p.owner") : sql.ref("p.id");
  const ownReports = sql`union all select bytes, 0 from views where holder = ${name}`;
  const { rows } = await sql<{ bytes: number | null; versions: number | null }>`
    select sum(bytes) as bytes, sum(is_version) as versions from (
      select u.size_bytes as bytes, u.is_version from (
        select b.size_bytes, case when b.part in ('artifact', 'archive') then 1 else 0 end as is_version, b.project_id
          from blobs b
        union all select v.bytes, 0, v.target from views v where v.holder = ''
      ) u join projects p on p.id = u.project_id where ${column} = ${name}
      ${kind === "owner" ? ownReports : sql``}
    ) stored`.execute(db);
  return { bytes: Number(rows[0]?.bytes ?? 0), versions: Number(rows[0]?.versions ?? 0) };
}
