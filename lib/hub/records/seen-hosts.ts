import { sql } from "kysely";
import { type RootMark, rootMarkText } from "../../contract/trust/marks.ts";
import type { FleetKey } from "./fleet.ts";
import { later, nameHosts, nextChange } from "./host-rows.ts";
import { inTransaction, type Queries } from "./port.ts";
import { selectWhere, updateWhere } from "./rows.ts";

/** Host as a poll names it. */
export interface SeenHost {
  id: string;
  /** Version of the trust root that it follows; undefined for none. */
  root: RootMark | undefined;
}

/** Records a poll of hosts that name themselves, some for the first time. @param seenAt ISO 8601 */
export async function seeHosts(db: Queries, view: FleetKey, hosts: readonly SeenHost[], seenAt: string): Promise<void> {
  const { holder, target } = view;
  const ids = hosts.map(({ id }) => id);
  const unnamed = await selectWhere(db, "hosts", { holder, target, seen_at: null })
    .where("host_id", "in", ids)
    .select("host_id")
    .execute();
  const first = unnamed.map(({ host_id: id }) => id);
  if (first.length > 0) await inTransaction(db, (transaction) => nameHosts(transaction, view, first, seenAt));
  await updateWhere(db, "hosts", { holder, target })
    .set({
      seen_at: sql<string>`case when seen_at > ${seenAt} then seen_at else ${seenAt} end`,
      heard_at: later("heard_at", seenAt),
    })
    .where("host_id", "in", ids)
    .execute();
  for (const group of Map.groupBy(hosts, ({ root }) => root && rootMarkText(root)).values())
    await noteRoot(db, view, group);
}

/** Records which version of a trust root hosts follow, where that has changed. @param group hosts of one version */
async function noteRoot(db: Queries, view: FleetKey, group: readonly SeenHost[]): Promise<void> {
  const { holder, target } = view;
  const { version = null, digest = null } = group[0]?.root ?? {};
  const ids = group.map(({ id }) => id);
  const others = selectWhere(db, "hosts", { holder, target })
    .select("host_id")
    .where("host_id", "in", ids)
    .where((eb) =>
      version === null
        ? eb("root_version", "is not", null)
        : eb.or([eb("root_version", "is", null), eb("root_version", "!=", version), eb("root_digest", "!=", digest)]),
    );
  const changed = (await others.execute()).map(({ host_id: id }) => id);
  if (changed.length === 0) return;
  await inTransaction(db, async (transaction) => {
    const change = await nextChange(transaction, view);
    if (change === undefined) return;
    await updateWhere(transaction, "hosts", { holder, target })
      .where("host_id", "in", changed)
      .set({ root_version: version, root_digest: digest, change })
      .execute();
  });
}
