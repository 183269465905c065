import { byPrecedence, latestOf, type RankedVersion } from "../../../contract/versions.ts";
import { hooksOf, type TargetChange, type TargetPart } from "../hooks.ts";
import type { Locked } from "../locked.ts";
import type { Queries, Transacted, TransactedIn } from "../port.ts";
import { lockProject, type Project } from "../projects.ts";
import { selectWhere, updateWhere } from "../rows.ts";
import { renewedDetail } from "../target-detail.ts";
import type { VersionsTable } from "../version-tables.ts";
import { type AboveVersion, gateText, type RollingVersion } from "./gate.ts";
import type { TargetRow } from "./states.ts";

/**
 * Changes a target and its answers to `latest`: locks its row, makes the change, and renews the latest open version,
 * the gate and the detail record. Everything that publishes, yanks, deletes, transfers or rolls out a version uses
 * this, so that the answers are right when the transaction commits. Locks are taken in one order: the target, then what
 * features keep for it.
 *
 * @param work calls `touch` for each version whose bytes, yank or state it changes, and `tell` with changes in which
 *   features take part
 * @param now milliseconds since 1970
 */
export async function changeTarget<T, In>(
  transaction: TransactedIn<In>,
  projectId: string,
  now: number,
  work: (
    project: Locked<Project, In>,
    touch: (version: string) => void,
    tell: (change: TargetChange) => Promise<boolean>,
  ) => Promise<T>,
): Promise<T> {
  const before = await lockProject(transaction, projectId);
  const parts = partsIn(transaction, before, now);
  const touched = new Set<string>();
  const tell = async (change: TargetChange): Promise<boolean> => {
    let hasMoved = false;
    for (const part of parts) hasMoved = (await part.hear(change)) || hasMoved;
    return hasMoved;
  };
  const result = await work(before, (version) => touched.add(version), tell);
  await renew(transaction, before, { parts, latest: await latestOpen(transaction, before, touched) });
  return result;
}

/** Recomputes a target's answers to `latest` from its versions and their states. */
export async function renewTarget(transaction: Transacted, projectId: string, now: number): Promise<void> {
  const project = await lockProject(transaction, projectId);
  const parts = partsIn(transaction, project, now);
  await renew(transaction, project, { parts, latest: await bestOpen(transaction, project) });
}

const partsIn = (transaction: Transacted, target: Project, now: number): TargetPart[] =>
  hooksOf(transaction).flatMap((hooks) => hooks.onTarget?.(transaction, target, now) ?? []);

async function renew(
  transaction: Transacted,
  before: Project,
  { parts, latest }: { parts: readonly TargetPart[]; latest: string | null },
): Promise<void> {
  let rolling: RollingVersion | undefined;
  for (const part of parts) rolling = (await part.settle(latest)) ?? rolling;
  const gate = gateText(await versionsAbove(transaction, before, latest), rolling);
  const changes = { latest_version: latest, gate };
  const detail = before.kind === "project" ? undefined : await renewedDetail(transaction, before, latest);
  const isSame = before.latest_version === latest && before.gate === gate && (detail?.isSame ?? true);
  if (!isSame)
    await updateWhere(transaction, "projects", { id: before.id })
      .set({ ...changes, ...detail?.columns })
      .execute();
}

/** Returns the latest open version after a change: the greater of two, unless the latest one is gone. */
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

/** Finds the best open version of all. @param except version to ignore */
export async function bestOpen(db: Queries, target: TargetRow, except?: string): Promise<string | null> {
  const open = await openVersions(db, target, undefined);
  return latestOf(open.filter(({ version }) => version !== except))?.version ?? null;
}

/** Tells whether every host may have a published version as the latest one. */
const isOpen = ({ is_yanked, state }: Pick<VersionsTable, "is_yanked" | "state">) => is_yanked === 0 && state === null;

/** Reads open, unyanked versions. @param only labels to consider; undefined for all */
async function openVersions(
  db: Queries,
  { id }: Pick<TargetRow, "id">,
  only: readonly string[] | undefined,
): Promise<RankedVersion[]> {
  const rows = await selectWhere(db, "versions", { project_id: id })
    .select(["version", "created_at", "is_yanked", "state"])
    .$if(only !== undefined, (query) => query.where("version", "in", only!))
    .execute();
  return rows.filter(isOpen).map(({ version, created_at }) => ({ version, created_at }));
}

/**
 * Tells whether a published version ranks above another one, which may be unpublished or staged: it would then be the
 * newest.
 */
export async function ranksAbove(
  db: Queries,
  { id }: Pick<TargetRow, "id">,
  version: string,
  other: string,
  now: number,
): Promise<boolean> {
  const rows = await selectWhere(db, "versions", { project_id: id })
    .select(["version", "created_at"])
    .where("version", "in", [version, other])
    .where((eb) => eb.or([eb("state", "is", null), eb("state", "!=", "staged")]))
    .execute();
  const factsOf = (label: string): RankedVersion =>
    rows.find((row) => row.version === label) ?? { version: label, created_at: new Date(now).toISOString() };
  return byPrecedence(factsOf(version), factsOf(other)) < 0;
}

/**
 * Reads the versions that are not open and rank above the latest open one, best first. Yanked and deleted ones are
 * among them only if they were taken back: hosts that run them are still told so.
 */
async function versionsAbove(
  db: Queries,
  { id }: Pick<TargetRow, "id">,
  latest: string | null,
): Promise<(AboveVersion & RankedVersion)[]> {
  const held = await selectWhere(db, "versions", { project_id: id })
    .select(["version", "created_at", "state", "is_taken_back"])
    .where("is_yanked", "in", [0, 1])
    .where("state", "in", ["rolling", "held"])
    .where((eb) => eb.or([eb("is_yanked", "=", 0), eb("is_taken_back", "=", 1)]))
    .$narrowType<{ state: "rolling" | "held" }>()
    .execute();
  const deleted = await selectWhere(db, "deleted_versions", { project_id: id, is_taken_back: 1 })
    .select(["version", "published_at as created_at"])
    .$narrowType<{ created_at: string }>()
    .execute();
  const rows = [...held, ...deleted.map((row) => ({ ...row, state: "held" as const, is_taken_back: 1 }))];
  if (rows.length === 0 || latest === null) return rows.sort(byPrecedence);
  const [floor] = await openVersions(db, { id }, [latest]);
  return rows.filter((row) => floor === undefined || byPrecedence(row, floor) < 0).sort(byPrecedence);
}
