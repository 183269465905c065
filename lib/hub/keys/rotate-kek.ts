import { BY_HAND, insertAudit } from "../records/audit.ts";
import { findKeks, keksInUse, registerKeks, retireKeksExcept } from "../records/keks.ts";
import type { Database } from "../records/port.ts";
import { replaceSealed, sealedDeks, type SealedRow, sealedSecrets, type SealedTable } from "../records/sealed-rows.ts";
import { type DatabasePlace, openHubDatabase } from "../storage/open.ts";
import { type Kek, lockKekFile, newKek, writeKekFile } from "./kek-file.ts";
import { foreignKeks, type KekLocation, type KekSource, kekSource } from "./kek-source.ts";
import { dekContext, seal, secretContext, unseal } from "./sealing.ts";

export interface RotateKekOptions extends DatabasePlace {
  /** Location of the KEKs. Default: `<dataDir>/kek.json`. */
  keks?: KekLocation;
  clock?: () => number;
  /** Counts what a rotation would change, without changing it. */
  dryRun?: boolean;
}

export interface RotateKekResult {
  /** KEK used for sealing from now on; undefined for one that a dry run does not make. */
  kekId: string | undefined;
  /** Rows sealed again. */
  rewrapped: number;
  /** KEKs that no row names any more: removed from the file, or to be removed by their manager. */
  dropped: string[];
}

const TABLES = [sealedDeks, sealedSecrets];

/** Returns the context that a row's sealing is bound to: a DEK to its project and artifact, a secret to its name. */
const contextOf = ({ id, projectId }: SealedRow) =>
  projectId === undefined ? secretContext(id) : dekContext(projectId, id);

async function rewrap(database: Database, table: SealedTable, keks: Map<string, Kek>, target: Kek): Promise<number> {
  let rewrapped = 0;
  for (let after = ""; ;) {
    const page = await table.page(database.kysely, after);
    const last = page.at(-1);
    if (last === undefined) return rewrapped;
    const old = page.filter(({ kekId }) => kekId !== target.id);
    await replaceSealed(database.kysely, table, old, (row) => {
      const kek = keks.get(row.kekId);
      if (kek === undefined) throw new Error(`a record names ${row.kekId}, which is not among the keys`);
      const context = contextOf(row);
      return seal(unseal(row, kek, context), target, context);
    });
    rewrapped += old.length;
    after = last.id;
  }
}

/**
 * Requires keys that the database has used: otherwise all of them would be dropped. @throws UsageError
 * `credential_unreadable`
 */
async function refuseForeign(database: Database, source: KekSource, keks: readonly Kek[]): Promise<void> {
  const registered = await findKeks(database.kysely);
  if (!keks.some(({ id }) => registered.has(id))) throw foreignKeks(source);
}

async function preview(database: Database, source: KekSource): Promise<RotateKekResult> {
  const keks = await source.read();
  await refuseForeign(database, source, keks);
  const kekId = source.path === undefined ? keks.at(-1)!.id : undefined;
  let rewrapped = 0;
  for (const table of TABLES) {
    for (let after: string | undefined = ""; after !== undefined;) {
      const page = await table.page(database.kysely, after);
      rewrapped += page.filter((row) => row.kekId !== kekId).length;
      after = page.at(-1)?.id;
    }
  }
  return { kekId, rewrapped, dropped: keks.map(({ id }) => id).filter((id) => id !== kekId) };
}

/**
 * Adds a KEK, seals every secret again under it, and drops the KEKs that no row names any more. Keys managed by a
 * command or credential are neither added nor dropped. Safe while hubs run: a retired KEK seals nothing (`underKek`),
 * and a hub that meets an unknown KEK reads keys and row again. An interrupted rotation is completed by the next one.
 *
 * @throws UsageError `usage` when there is no hub, `credential_unreadable` when the database belongs to another one
 */
export async function rotateKek(options: RotateKekOptions): Promise<RotateKekResult> {
  const clock = options.clock ?? Date.now;
  const source = kekSource(options.keks, options.dataDir);
  // Before the database is opened: without keys, no tables are created in it.
  await source.read();
  await using opened = await openHubDatabase(options);
  const { database } = opened;
  if (options.dryRun) return await preview(database, source);
  using _lock = source.path === undefined ? undefined : lockKekFile(source.path);
  const before = await source.read();
  await refuseForeign(database, source, before);
  const target = source.path === undefined ? before.at(-1)! : newKek(clock());
  const all = source.path === undefined ? before : [...before, target];
  if (source.path !== undefined) await writeKekFile(source.path, all);

  const now = new Date(clock()).toISOString();
  await registerKeks(
    database.kysely,
    all.map(({ id }) => id),
    now,
  );
  await retireKeksExcept(database, target.id, now);

  const byId = new Map(all.map((kek) => [kek.id, kek]));
  let rewrapped = 0;
  for (const table of TABLES) rewrapped += await rewrap(database, table, byId, target);

  const inUse = await keksInUse(database.kysely);
  const kept = all.filter(({ id }) => id === target.id || inUse.has(id));
  if (source.path !== undefined) await writeKekFile(source.path, kept);
  const dropped = all.filter((kek) => !kept.includes(kek)).map(({ id }) => id);
  const facts = { rewrapped, dropped: dropped.join(" ") };
  await insertAudit(database.kysely, { action: "kek.rotate", subject: target.id, ...BY_HAND, facts }, clock());
  return { kekId: target.id, rewrapped, dropped };
}
