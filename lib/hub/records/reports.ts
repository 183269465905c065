import type { Insertable } from "kysely";
import type { ProjectHost } from "../../contract/surfaces/deploy.ts";
import { type Health, runningVersion, tellsUnhealthy, unhealthySince } from "../../contract/surfaces/host-record.ts";
import type { ReportRecord } from "../../contract/surfaces/marketplace.ts";
import type { StepOutcome } from "../../contract/surfaces/reports.ts";
import type { RootMark } from "../../contract/trust/marks.ts";
import { HubError } from "../base/errors.ts";
import { timeOfId } from "../base/identity.ts";
import type { FleetKey } from "./fleet.ts";
import type { ReportsTable } from "./fleet-tables.ts";
import { hooksOf, keysOfHost } from "./hooks.ts";
import type { StoredRecord } from "./host-columns.ts";
import { advanceView, hostsBefore, type NewHost, storeHosts } from "./host-rows.ts";
import { hasKeyOfItsOwn } from "./keys.ts";
import type { Queries, Transacted } from "./port.ts";
import { lockIfThere } from "./projects.ts";

/** Signature of a host under its report. */
export interface HostSignature {
  /** Ed25519 public key, hexadecimal. */
  key: string;
  /** Project whose cards may say that the key is the host's. */
  projectId: string;
  /**
   * Requires, under the lock of that project, that what was read of the host before still holds: it may have been
   * removed or renamed.
   *
   * @throws Error where it does not; the report is not stored
   */
  requireStill(transaction: Transacted): Promise<void>;
}

/** Deployment report, to be stored in the log and the fleet view. */
export interface IncomingReport {
  id: string;
  /** Owner of the reporting key on surface A; empty on surface B, where the project is the view. */
  holder: string;
  target: string;
  hostId: string;
  version: string;
  status: "success" | "failed" | "rolled_back";
  /** Identity of its deployment in the view, which another report of it has as well; null for none. */
  deployment: string | null;
  /** Report as kept in the log, JSON. */
  record: string;
  /** Record that the fleet view shows. */
  hostRecord: ReportRecord | ProjectHost;
  /** Whether the host said its name in the request's header, as in its polls. */
  isNamed: boolean;
  /** Whether the key that reports it speaks for this host alone. */
  isBound: boolean;
  /** Version of the trust root that the host follows; undefined for none. */
  root?: RootMark | undefined;
  /** Version of the host's agent; undefined where it does not say it. */
  agent?: string | undefined;
  /**
   * Signature of a host without network, by which it came back: it counts as of the time when it was made. Undefined
   * for one that its host has sent.
   */
  signedBy?: HostSignature | undefined;
  /** Kept with the host's newest record only, and left out of the view. */
  steps?: readonly StepOutcome[] | undefined;
  createdAt: string;
}

/** Report that was stored, with the health to which its host has turned by it. */
export interface StoredReport extends IncomingReport {
  turned: Health | undefined;
}

/**
 * Appends reports of one view to the log and makes each the newest record of its host, in one transaction. Locks the
 * view's row, which keeps change numbers in order for readers' cursors. A deployment already in the log changes
 * nothing.
 *
 * @param reports at least one, in the order of their receipt
 * @throws HubError 403 `other_host` for a host with a key of its own that another key reports
 * @throws Error of `requireStill` for a signed report whose host has changed
 */
export async function storeReports(db: Queries, reports: readonly IncomingReport[]): Promise<void> {
  const { holder, target } = reports[0]!;
  await db.transaction().execute(async (transaction) => {
    await requireSigners(transaction, reports);
    const rows = await transaction
      .insertInto("reports")
      // In the same order for all hubs, so that no two deadlock.
      .values(reports.map(logged).toSorted(byDeployment))
      .onConflict((conflict) => conflict.columns(["holder", "target", "deployment_id"]).doNothing())
      .returning("id")
      .execute();
    const ids = new Set(rows.map(({ id }) => id));
    const added = reports.filter(({ id }) => ids.has(id));
    if (added.length === 0) return;

    const view = { holder, target };
    const changes = await advanceView(transaction, view, added.length, bytesOf(added));
    // Under the view's row lock: no other report of these hosts can come in between.
    const named = added.map(({ hostId }) => hostId);
    const before = await hostsBefore(transaction, view, named);
    const hosts = new Map<string, NewHost>();
    const turned = new Map<string, Health>();
    for (const [
      index,
      { hostId, hostRecord, id, isNamed, isBound, signedBy, createdAt, root, agent, steps: taken },
    ] of added.entries()) {
      const earlier = hosts.get(hostId);
      const wasBound = (earlier ?? before.get(hostId))?.is_bound === 1;
      const signer = signedBy && (await signerOf(transaction, view, hostId, signedBy));
      const isOwn = isBound || signer === "itself";
      if ((wasBound || signer === "another") && !isOwn) throw hasOwnKey(hostId);
      // A failed deployment that does not report the running version is assumed to have left it unchanged.
      const known = earlier?.record ?? parsed(before.get(hostId)?.record);
      if (signedBy !== undefined && known !== undefined && isAfter(known, hostRecord)) continue;
      const running = runningIn(hostRecord) ?? runningIn(known) ?? UNKNOWN;
      const record: StoredRecord = { ...hostRecord, ...running, ...healthAfter(hostRecord, known) };
      if (hostRecord.applications === undefined && known !== undefined && keepsRunning(record, known))
        record.applications = known.applications;
      const turn = turnOfHealth(known, record);
      if (turn !== undefined) turned.set(id, turn);
      const change = changes - added.length + index + 1;
      hosts.set(hostId, {
        host_id: hostId,
        change,
        report_id: id,
        record,
        steps: taken === undefined ? null : JSON.stringify(taken),
        is_bound: isOwn || wasBound ? 1 : 0,
        seen_at: isNamed ? createdAt : (earlier?.seen_at ?? null),
        first_change: earlier?.first_change ?? change,
        root_version: root?.version ?? earlier?.root_version ?? null,
        root_digest: root?.digest ?? earlier?.root_digest ?? null,
        agent: agent ?? earlier?.agent ?? null,
      });
    }
    if (hosts.size > 0) await storeHosts(transaction, view, [...hosts.values()], before);
    const stored = added.map((report): StoredReport => ({ ...report, turned: turned.get(report.id) }));
    for (const hooks of hooksOf(transaction)) await hooks.onReports?.(transaction, stored);
  });
}

/** Requires that the hosts which have signed reports are as they were, until the transaction ends. @throws Error */
async function requireSigners(transaction: Transacted, reports: readonly IncomingReport[]): Promise<void> {
  const signed = reports.flatMap(({ signedBy }) => signedBy ?? []);
  for (const id of [...new Set(signed.map(({ projectId }) => projectId))].sort()) await lockIfThere(transaction, id);
  for (const signature of signed) await signature.requireStill(transaction);
}

/**
 * Tells who has signed a report. Whoever makes a kit names the keys of its hosts: that of a host with a key of its own
 * must be known by its card.
 *
 * @returns `anyone` for a host that has neither a card nor a key of its own
 */
async function signerOf(
  transaction: Queries,
  { holder }: FleetKey,
  hostId: string,
  { key, projectId }: HostSignature,
): Promise<"itself" | "another" | "anyone"> {
  const known = await keysOfHost(transaction, projectId, hostId);
  if (known.some(({ ed25519 }) => ed25519 === key)) return "itself";
  if (known.length > 0 || (await hasKeyOfItsOwn(transaction, { holder, projectId, hostId }))) return "another";
  return "anyone";
}

const hasOwnKey = (host: string): HubError =>
  new HubError(
    403,
    "other_host",
    `The host ${host} is reported by the key that speaks for it alone: use that one, or take the host out of the fleet.`,
  );

const bytesOf = (reports: readonly IncomingReport[]): number =>
  reports.reduce((sum, { record }) => sum + Buffer.byteLength(record), 0);

const byDeployment = (
  { deployment_id: a }: Insertable<ReportsTable>,
  { deployment_id: b }: Insertable<ReportsTable>,
) => (a === b ? 0 : (a ?? "") < (b ?? "") ? -1 : 1);

const logged = ({ hostId, deployment, createdAt, ...report }: IncomingReport): Insertable<ReportsTable> => ({
  id: report.id,
  holder: report.holder,
  target: report.target,
  host_id: hostId,
  version: report.version,
  status: report.status,
  deployment_id: deployment,
  record: report.record,
  created_at: createdAt,
});

/**
 * Tells whether a record was made after another one. Of two that kits brought the host's own order decides, since a
 * wrong clock makes times of receipt of them: it takes no older kit, and its clock tells reports of one kit apart.
 */
function isAfter(known: StoredRecord, record: StoredRecord): boolean {
  if (known.by_kit === undefined || record.by_kit === undefined) return known.created_at > record.created_at;
  const ahead = timeOfId(known.by_kit.kit) - timeOfId(record.by_kit.kit);
  return ahead > 0 || (ahead === 0 && Date.parse(known.completed_at) > Date.parse(record.completed_at));
}

/** Version that a host runs and its signer, from one report. */
type Running = Pick<StoredRecord, "running_version" | "running_signer">;

const UNKNOWN = { running_version: undefined, running_signer: undefined } satisfies Running;

/** Returns what a host runs by a record; undefined for a record that does not say. */
function runningIn(record: StoredRecord | undefined): Running | undefined {
  const version = record && runningVersion(record);
  return version === undefined ? undefined : { running_version: version, running_signer: record?.running_signer };
}

/**
 * Returns the health of a host after a report. A failed one that says nothing of it leaves it as it was, while the same
 * version runs; a deployment has found its version healthy.
 */
function healthAfter(record: StoredRecord, known: StoredRecord | undefined): Pick<StoredRecord, "health"> {
  const says = record.health !== undefined || record.status === "success" || tellsUnhealthy(record);
  if (says || known === undefined) return { health: record.health };
  const running = runningVersion(record);
  return { health: running === undefined || running === runningVersion(known) ? known.health : undefined };
}

/** Tells whether a host runs what it ran before a report. */
const keepsRunning = (record: StoredRecord, known: StoredRecord): boolean =>
  runningVersion(record) !== undefined && runningVersion(record) === runningVersion(known);

/** Returns the health that a host has turned to, if that has changed. */
function turnOfHealth(before: StoredRecord | undefined, after: StoredRecord): Health | undefined {
  const [was, is] = [before && unhealthySince(before), unhealthySince(after)];
  if ((was === undefined) === (is === undefined)) return undefined;
  if (is !== undefined) return { state: "unhealthy", since: is };
  return after.health ?? { state: "healthy", since: after.completed_at };
}

const parsed = (stored: string | undefined): StoredRecord | undefined =>
  stored === undefined ? undefined : (JSON.parse(stored) as StoredRecord);
