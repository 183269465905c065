import { firstId } from "../base/identity.ts";
import type { FleetKey } from "./fleet.ts";
import type { ReportsTable } from "./fleet-tables.ts";
import type { PreparedStatements } from "./port.ts";
import { type Reading, rowsOf } from "./reading.ts";

/** Most reports read; for a fleet with more, earlier days are left out. */
const MOST = 50_000;

/** Deployment of a host, with its record as JSON unless it was a success. */
type Deployment = Pick<ReportsTable, "id" | "host_id" | "version" | "status" | "created_at"> & {
  record: string | null;
};

const SINCE: Reading<Deployment> = {
  text: `SELECT id, host_id, version, status, created_at,
    CASE WHEN status = 'success' THEN NULL ELSE record END AS record
    FROM reports WHERE holder = ? AND target = ? AND id >= ? ORDER BY id DESC LIMIT ${MOST + 1}`,
};
/** Query for the version of each host before a time: one index lookup per host. */
const BEFORE = `SELECT host_id, (SELECT r.version FROM reports r
    WHERE r.holder = hosts.holder AND r.target = hosts.target AND r.host_id = hosts.host_id
      AND r.id < ? AND r.status = 'success' ORDER BY r.id DESC LIMIT 1) AS version
  FROM hosts WHERE holder = ? AND target = ?`;

/** Deployments of a fleet since a time. */
interface Deployments {
  /** Deployments, oldest first. */
  reports: Deployment[];
  /** Hosts of the fleet, each with the version that it had before; null for none. */
  before: Map<string, string | null>;
  /** Whether there are earlier ones since that time, which were not read. */
  isCut: boolean;
}

/** Reads the deployments of a view's hosts. @param since milliseconds since 1970 */
export async function readDeployments(
  statements: PreparedStatements,
  { holder, target }: FleetKey,
  since: number,
): Promise<Deployments> {
  const start = firstId("dpl", since);
  const rows = await rowsOf(statements, SINCE, [holder, target, start]);
  const found = rows.slice(0, MOST).reverse();
  const isCut = rows.length > MOST;
  const hosts = await statements.all(BEFORE, [isCut ? found[0]!.id : start, holder, target]);
  const before = hosts.map((row) => [row["host_id"] as string, row["version"] as string | null] as const);
  return { reports: found, before: new Map(before), isCut };
}
