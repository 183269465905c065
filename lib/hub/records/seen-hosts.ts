import { sql } from "kysely";
import type { Labels } from "../../contract/labels.ts";
import { NOTHING } from "../../contract/surfaces/host-record.ts";
import { type RootMark, rootMarkText } from "../../contract/trust/marks.ts";
import { recordId } from "../base/identity.ts";
import type { FleetKey } from "./fleet.ts";
import { advanceView, later, nameHosts, type NewHost, nextChange, storeHosts } from "./host-rows.ts";
import { inTransaction, type Queries } from "./port.ts";
import { selectWhere, updateWhere } from "./rows.ts";

/** Claim of a host about itself in a poll, through a key that speaks for it alone. */
export interface HostClaim {
  keyId: string;
  /** Version that it runs; null for none. */
  running: string | null;
  labels: Labels | undefined;
}

/** Host as a poll names it. */
export interface SeenHost {
  id: string;
  /** Version of the trust root that it follows; null for none, undefined where it does not say it. */
  root: RootMark | null | undefined;
  /** Version of its agent; undefined where it does not say it. */
  agent?: string | undefined;
  /** By which it enters the view if it is not there; undefined for a host that enters by its first report. */
  claim?: HostClaim | undefined;
}

/** Records a poll of hosts that name themselves, some for the first time. @param seenAt ISO 8601 */
export async function seeHosts(db: Queries, view: FleetKey, hosts: readonly SeenHost[], seenAt: string): Promise<void> {
  const { holder, target } = view;
  const ids = hosts.map(({ id }) => id);
  await enterHosts(db, view, hosts, seenAt);
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
  const telling = hosts.filter(({ root }) => root !== undefined);
  for (const group of Map.groupBy(telling, ({ root }) => root && rootMarkText(root)).values())
    await noteRoot(db, view, group);
  for (const [agent, group] of Map.groupBy(hosts, (host) => host.agent))
    if (agent !== undefined) await noteAgent(db, view, agent, idsOf(group));
}

const idsOf = (hosts: readonly SeenHost[]): string[] => hosts.map(({ id }) => id);

/**
 * Adds hosts that poll with keys of their own and are not in the view: they have nothing to report, since they run what
 * they are to run. Only reads where all are there.
 */
async function enterHosts(db: Queries, view: FleetKey, hosts: readonly SeenHost[], seenAt: string): Promise<void> {
  const { holder, target } = view;
  const missing = async (queries: Queries, of: readonly SeenHost[]): Promise<SeenHost[]> => {
    const ids = of.map(({ id }) => id);
    const there = await selectWhere(queries, "hosts", { holder, target })
      .where("host_id", "in", ids)
      .select("host_id")
      .execute();
    const known = new Set(there.map(({ host_id: id }) => id));
    return of.filter(({ id }) => !known.has(id));
  };
  const claiming = hosts.filter(({ claim }) => claim !== undefined);
  if (claiming.length === 0) return;
  const absent = await missing(db, claiming);
  if (absent.length === 0) return;
  await inTransaction(db, async (transaction) => {
    const last = await advanceView(transaction, view, absent.length);
    // Under the lock of the view's row: a report may have come before it, or the host's removal or rename.
    const speaking = await hostsOfKeys(transaction, absent);
    const entering = (await missing(transaction, absent)).filter(({ id, claim }) => speaking.get(claim!.keyId) === id);
    if (entering.length === 0) return;
    const rows = entering.map((host, index) => newHost(host, last - absent.length + index + 1, seenAt));
    await storeHosts(transaction, view, rows, new Map());
  });
}

/** Returns the hosts that keys speak for now, by the ids of keys that are not revoked: a rename gives another host. */
async function hostsOfKeys(db: Queries, hosts: readonly SeenHost[]): Promise<Map<string, string | null>> {
  const ids = hosts.map(({ claim }) => claim!.keyId);
  const keys = selectWhere(db, "api_keys", { revoked_at: null }).where("id", "in", ids);
  return new Map((await keys.select(["id", "host"]).execute()).map(({ id, host }) => [id, host]));
}

/** Makes the record of a host from its poll. Times of a report are empty: there was none. */
function newHost({ id, root, agent, claim }: SeenHost, change: number, seenAt: string): NewHost {
  const { running, labels } = claim!;
  const report_id = recordId("dpl", Date.parse(seenAt));
  const record = {
    ...{ host_id: id, deployment_id: report_id, version: running ?? NOTHING, status: "success" as const },
    ...{ error_message: null, started_at: "", completed_at: "", created_at: seenAt, running_version: running },
    ...(labels !== undefined && { labels }),
  };
  return {
    ...{ host_id: id, change, report_id, record, steps: null, is_bound: 1, seen_at: seenAt, first_change: change },
    ...{ root_version: root?.version ?? null, root_digest: root?.digest ?? null },
    agent: agent ?? null,
  };
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

/** Records the version of the agent of hosts, where that has changed. */
async function noteAgent(db: Queries, view: FleetKey, agent: string, ids: readonly string[]): Promise<void> {
  const { holder, target } = view;
  const others = await selectWhere(db, "hosts", { holder, target })
    .select("host_id")
    .where("host_id", "in", ids)
    .where((eb) => eb.or([eb("agent", "is", null), eb("agent", "!=", agent)]))
    .execute();
  if (others.length === 0) return;
  await inTransaction(db, async (transaction) => {
    const change = await nextChange(transaction, view);
    if (change === undefined) return;
    await updateWhere(transaction, "hosts", { holder, target })
      .where(
        "host_id",
        "in",
        others.map(({ host_id: id }) => id),
      )
      .set({ agent, change })
      .execute();
  });
}
