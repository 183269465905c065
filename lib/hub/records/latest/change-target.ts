import type { NotNull } from "kysely";
import { VERSION_STATES } from "../../../contract/version-states.ts";
import { byPrecedence, latestOf, type VersionFacts } from "../../../contract/versions.ts";
import { BY_HUB, insertAudit } from "../audit.ts";
import type { Queries, Transacted } from "../port.ts";
import { lockProject, type Project } from "../projects.ts";
import { endRollout, findLiveRollout, rulesOf, standingOf, type StoredRollout } from "../rollouts.ts";
import { selectWhere, updateWhere } from "../rows.ts";
import { renewedDetail } from "../target-detail.ts";
import type { VersionsTable } from "../version-tables.ts";
import { type AboveVersion, gateText } from "./gate.ts";
import { hold, subjectOf, type Target } from "./states.ts";

/**
 * Changes a target and what it answers to `latest`: locks its row, carries out the change, and renews the latest open
 * version, the gate and the detail record. Everything that publishes, yanks, deletes, transfers or rolls out a version
 * goes this way, so the answers are right when the transaction commits. Locks are taken in one order: target, then
 * rollout.
 *
 * @param work calls `touch` for each version whose bytes, yank or state it changes
 * @param now milliseconds since 1970
 */
export async function changeTarget<T>(
  transaction: Transacted,
  projectId: string,
  now: number,
  work: (project: Project, touch: (version: string) => void) => Promise<T>,
): Promise<T> {
  const before = await lockProject(transaction, projectId);
  const touched = new Set<string>();
  const result = await work(before, (version) => touched.add(version));
  await renew(transaction, before, await latestOpen(transaction, before, touched), now);
  return result;
}

/** Renews what a target answers to `latest` from its versions and their states, whatever is stored. */
export async function renewTarget(transaction: Transacted, projectId: string, now: number): Promise<void> {
  const project = await lockProject(transaction, projectId);
  await renew(transaction, project, await bestOpen(transaction, project), now);
}

async function renew(transaction: Transacted, before: Project, latest: string | null, now: number): Promise<void> {
  let live = await findLiveRollout(transaction, before.id);
  if (live !== undefined && latest !== null && (await ranksAbove(transaction, before, latest, live.version, now))) {
    await abortByHub(transaction, before, live, `${latest}, which every host may have, ranks above it.`, now);
    live = undefined;
  }
  const rollout = gateText(await versionsAbove(transaction, before, latest), live);
  const changes = { latest_version: latest, rollout };
  const detail = before.kind === "project" ? undefined : await renewedDetail(transaction, before, latest);
  const isSame = before.latest_version === latest && before.rollout === rollout && (detail?.isSame ?? true);
  if (!isSame)
    await updateWhere(transaction, "projects", { id: before.id })
      .set({ ...changes, ...detail?.columns })
      .execute();
}

/** Ends a live rollout because its target has changed: its version is held where it is, and nobody goes back. */
export async function abortByHub(
  transaction: Transacted,
  target: Target,
  live: StoredRollout,
  reason: string,
  now: number,
): Promise<void> {
  await endRollout(transaction, live, { state: "aborted", reason, now });
  await hold(transaction, target, live.version, { cause: "aborted", rollout: live.id, reason, now });
  const facts = { rollout: live.id, version: live.version, reason };
  await insertAudit(transaction, { action: "rollout.abort", ...BY_HUB, subject: subjectOf(target), facts }, now);
}

/** Halts a live rollout: its version is held, and taken back where the rollout's rules say so. */
export async function haltByHub(
  transaction: Transacted,
  target: Target,
  live: StoredRollout,
  reason: string | null,
  now: number,
): Promise<void> {
  const isTakenBack = rulesOf(live).on_halt === "rollback";
  await endRollout(transaction, live, { state: "halted", reason, now });
  await hold(transaction, target, live.version, { cause: "halted", rollout: live.id, reason, isTakenBack, now });
  const facts = { rollout: live.id, version: live.version, open: standingOf(live).open, reason };
  await insertAudit(transaction, { action: "rollout.halt", ...BY_HUB, subject: subjectOf(target), facts }, now);
}

/** The latest open version after a change: of two versions, unless the latest one has gone. */
async function latestOpen(
  transaction: Transacted,
  project: Project,
  touched: ReadonlySet<string>,
): Promise<string | null> {
  const { latest_version: before } = project;
  if (touched.size === 0) return before;
  const named = [...touched, ...(before === null || touched.has(before) ? [] : [before])];
  const open = await openVersions(transaction, project, named);
  if (before !== null && !open.some(({ version }) => version === before)) return bestOpen(transaction, project);
  return latestOf(open)?.version ?? null;
}

/** Finds the best open version among all. @param except one that does not count */
export async function bestOpen(db: Queries, target: Target, except?: string): Promise<string | null> {
  const open = await openVersions(db, target, undefined);
  return latestOf(open.filter(({ version }) => version !== except))?.version ?? null;
}

/** Tells whether every host may have a published version as the latest one. */
const isOpen = ({ is_yanked, state }: Pick<VersionsTable, "is_yanked" | "state">) => is_yanked === 0 && state === null;

/** Reads open, unyanked versions. @param only those among them; undefined for all */
async function openVersions(
  db: Queries,
  { id }: Pick<Target, "id">,
  only: readonly string[] | undefined,
): Promise<VersionFacts[]> {
  const rows = await selectWhere(db, "versions", { project_id: id })
    .select(["version", "created_at", "is_yanked", "state"])
    .$if(only !== undefined, (query) => query.where("version", "in", only!))
    .execute();
  return rows.filter(isOpen).map(({ version, created_at }) => ({ version, created_at }));
}

/** Tells whether a published version ranks above another one, which may be unpublished: it would be the newest then. */
export async function ranksAbove(
  db: Queries,
  { id }: Pick<Target, "id">,
  version: string,
  other: string,
  now: number,
): Promise<boolean> {
  const rows = await selectWhere(db, "versions", { project_id: id })
    .select(["version", "created_at"])
    .where("version", "in", [version, other])
    .execute();
  const factsOf = (label: string): VersionFacts =>
    rows.find((row) => row.version === label) ?? { version: label, created_at: new Date(now).toISOString() };
  return byPrecedence(factsOf(version), factsOf(other)) < 0;
}

/** Reads the unyanked versions that are not open and rank above the latest open one, best first. */
async function versionsAbove(
  db: Queries,
  { id }: Pick<Target, "id">,
  latest: string | null,
): Promise<(AboveVersion & VersionFacts)[]> {
  const rows = await selectWhere(db, "versions", { project_id: id, is_yanked: 0 })
    .select(["version", "created_at", "state", "is_taken_back"])
    .where("state", "in", VERSION_STATES)
    .$narrowType<{ state: NotNull }>()
    .execute();
  if (rows.length === 0 || latest === null) return rows.sort(byPrecedence);
  const [floor] = await openVersions(db, { id }, [latest]);
  return rows.filter((row) => floor === undefined || byPrecedence(row, floor) < 0).sort(byPrecedence);
}
