import { sql } from "kysely";
import type { Card } from "../../../artifact/sealed/card.ts";
import { hostFingerprint, type HostPublicKeys } from "../../../artifact/sealed/host-key.ts";
import type { SignedTerms } from "../../../artifact/sealed/terms.ts";
import type { SettingsUpload } from "../../../contract/settings/records.ts";
import type { KnownKey } from "../../records/hooks.ts";
import type { Locked } from "../../records/locked.ts";
import { isPostgres, type Queries, type Transacted, type TransactedIn } from "../../records/port.ts";
import type { Project } from "../../records/projects.ts";
import { deleteWhere, selectWhere, updateWhere } from "../../records/rows.ts";
import { keysOfCard, showAsNone, showSettings } from "./shown.ts";
import { type HostSettingsTable, own } from "./tables.ts";

/** Name of a host within a project. */
export type Named = Pick<HostSettingsTable, "project_id" | "host_id">;

/** Document of one host, as it is uploaded. */
export type Upload = SettingsUpload["documents"][number];

/** Columns of a host of which nothing is known. */
const NOTHING = {
  ...{ card: null, terms_digest: null, outcome: null, outcome_at: null },
  ...{ number: null, sealed_to: null, sealed: null, uploaded_at: null, uploaded_by: null },
};

export const findHostSettings = (db: Queries, named: Named): Promise<HostSettingsTable | undefined> =>
  selectWhere(own(db), "host_settings", named).selectAll().executeTakeFirst();

/** Finds the hosts of a project whose cards have one of the keys. @param keys at most 200 */
export async function hostsWithCards(
  db: Queries,
  project_id: string,
  keys: readonly HostPublicKeys[],
): Promise<KnownKey[]> {
  const ofCard = isPostgres(db)
    ? sql<string | null>`card::json -> 'signed' ->> 'x25519'`
    : sql<string | null>`json_extract(card, '$.signed.x25519')`;
  const readers = keys.map(({ x25519 }) => x25519);
  const rows = await selectWhere(own(db), "host_settings", { project_id })
    .select(["host_id", "card"])
    .where(ofCard, "in", readers)
    .execute();
  const wanted = new Set(keys.map(hostFingerprint));
  return rows
    .map(({ host_id, card }) => ({ host_id, fingerprint: hostFingerprint(keysOfCard(card!)) }))
    .filter(({ fingerprint }) => wanted.has(fingerprint));
}

/** Tells whether the hub has a card of a host already, with its terms, if any come with it. */
export async function hasCard(
  db: Queries,
  named: Named,
  { text }: Card,
  terms: SignedTerms | undefined,
): Promise<boolean> {
  const row = await own(db)
    .selectFrom("host_settings as s")
    .leftJoin("host_terms as t", (join) =>
      join.onRef("t.project_id", "=", "s.project_id").onRef("t.digest", "=", "s.terms_digest"),
    )
    .select(["s.card", "t.digest"])
    .where("s.project_id", "=", named.project_id)
    .where("s.host_id", "=", named.host_id)
    .executeTakeFirst();
  return row?.card === text && (terms === undefined || row.digest !== null);
}

/**
 * Keeps the card of a host in the place of another one. The caller has locked the project's row.
 *
 * @returns the fingerprint of the card that it replaces, null for none; undefined where the hub has this one already
 */
export async function storeCard(
  transaction: Transacted,
  named: Named,
  { text: card, signed }: Card,
  terms: SignedTerms | undefined,
): Promise<string | null | undefined> {
  const { project_id } = named;
  if (terms !== undefined)
    await own(transaction)
      .insertInto("host_terms")
      .values({ project_id, digest: terms.digest, terms: terms.text })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  const before = (await findHostSettings(transaction, named))?.card ?? null;
  if (before === card) return undefined;
  const columns = { card, terms_digest: signed.terms };
  await own(transaction)
    .insertInto("host_settings")
    .values({ ...named, ...NOTHING, ...columns })
    .onConflict((conflict) => conflict.columns(["project_id", "host_id"]).doUpdateSet(columns))
    .execute();
  await dropUnnamedTerms(transaction, project_id);
  await showSettings(transaction, project_id, [named.host_id]);
  return before === null ? null : hostFingerprint(keysOfCard(before));
}

/** Removes the terms of a project that no card names any more. */
async function dropUnnamedTerms(db: Queries, projectId: string): Promise<void> {
  await own(db)
    .deleteFrom("host_terms")
    .where("project_id", "=", projectId)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom("host_settings as s")
            .select("s.host_id")
            .whereRef("s.project_id", "=", "host_terms.project_id")
            .whereRef("s.terms_digest", "=", "host_terms.digest"),
        ),
      ),
    )
    .execute();
}

/** Keeps what a host says of its settings. @param at ISO 8601 */
export async function storeOutcome(transaction: Transacted, named: Named, outcome: string, at: string): Promise<void> {
  const columns = { outcome, outcome_at: at };
  await own(transaction)
    .insertInto("host_settings")
    .values({ ...named, ...NOTHING, ...columns })
    .onConflict((conflict) => conflict.columns(["project_id", "host_id"]).doUpdateSet(columns))
    .execute();
  await showSettings(transaction, named.project_id, [named.host_id]);
}

/** Host whose document does not follow the one that the hub has. */
export interface Passed {
  host_id: string;
  /** Number that the hub has; null for none. */
  number: number | null;
}

/** Documents of an upload beside those that the hub has. */
export interface Compared {
  /** Documents that are not there yet. An upload whose answer was lost comes again. */
  fresh: readonly Upload[];
  conflicts: readonly Passed[];
}

/** Compares documents with those that the hub has. The caller has locked the project's row. */
export async function compareUploads(
  transaction: Transacted,
  projectId: string,
  documents: readonly Upload[],
): Promise<Compared> {
  const rows = await selectWhere(own(transaction), "host_settings", { project_id: projectId })
    .select(["host_id", "number", "sealed_to", "sealed"])
    .where("host_id", "in", idsOf(documents))
    .execute();
  const known = new Map(rows.map((row) => [row.host_id, row]));
  const fresh = documents.filter(({ host_id, number, to, sealed }) => {
    const row = known.get(host_id);
    return row?.number !== number || row.sealed_to !== to || row.sealed !== sealed;
  });
  const numberOf = (hostId: string): number | null => known.get(hostId)?.number ?? null;
  const conflicts = fresh
    .filter(({ host_id, follows }) => numberOf(host_id) !== follows)
    .map(({ host_id }) => ({ host_id, number: numberOf(host_id) }));
  return { fresh, conflicts };
}

const idsOf = (documents: readonly Upload[]): string[] => documents.map(({ host_id }) => host_id);

/** Returns the hosts of an upload that no live key of the project speaks for. @param now ISO 8601 */
export async function unknownHosts(
  transaction: Transacted,
  projectId: string,
  documents: readonly Upload[],
  now: string,
): Promise<string[]> {
  const rows = await selectWhere(transaction, "api_keys", { project_id: projectId, revoked_at: null })
    .select("host")
    .where("host", "in", idsOf(documents))
    .where((eb) => eb.or([eb("expires_at", "is", null), eb("expires_at", ">", now)]))
    .execute();
  const known = new Set(rows.map(({ host }) => host));
  return idsOf(documents).filter((id) => !known.has(id));
}

/** Circumstances of an upload. */
interface Uploading {
  /** Id of the key that uploads. */
  by: string;
  /** Milliseconds since 1970. */
  now: number;
}

/**
 * Keeps documents, and raises the number that `latest` says: by one, and at least to the seconds since 1970, so that a
 * hub which was restored to before does not come to a number that hosts have heard already.
 *
 * @returns that number
 */
export async function storeUploads<In>(
  transaction: TransactedIn<In>,
  { id: project_id, settings_version: version }: Locked<Project, In>,
  documents: readonly Upload[],
  { by, now }: Uploading,
): Promise<number> {
  const uploaded = { uploaded_at: new Date(now).toISOString(), uploaded_by: by };
  const rows = documents.map(({ host_id, number, to, sealed }) => ({
    ...{ project_id, host_id, ...NOTHING },
    ...{ number, sealed_to: to, sealed, ...uploaded },
  }));
  await own(transaction)
    .insertInto("host_settings")
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(["project_id", "host_id"]).doUpdateSet((eb) => ({
        number: eb.ref("excluded.number"),
        sealed_to: eb.ref("excluded.sealed_to"),
        sealed: eb.ref("excluded.sealed"),
        uploaded_at: eb.ref("excluded.uploaded_at"),
        uploaded_by: eb.ref("excluded.uploaded_by"),
      })),
    )
    .execute();
  const settings_version = Math.max((version ?? 0) + 1, Math.floor(now / 1000));
  await updateWhere(transaction, "projects", { id: project_id }).set({ settings_version }).execute();
  await showAsNone(transaction, project_id, "unshown");
  await showSettings(transaction, project_id, idsOf(documents));
  return settings_version;
}

/** Forgets the card and settings of a host, in a transaction that removes or shows it. @returns what was there */
export async function dropHost(db: Queries, named: Named): Promise<HostSettingsTable | undefined> {
  const gone = await deleteWhere(own(db), "host_settings", named).returningAll().executeTakeFirst();
  if (typeof gone?.terms_digest === "string") await dropUnnamedTerms(db, named.project_id);
  return gone;
}

/** Gives what is kept of a host to its new name, which no other host has. */
export async function renameHostSettings(db: Queries, { project_id, host_id }: Named, to: string): Promise<void> {
  await deleteWhere(own(db), "host_settings", { project_id, host_id: to }).execute();
  await updateWhere(own(db), "host_settings", { project_id, host_id }).set({ host_id: to }).execute();
}

/** Removes everything that is kept of a project's hosts. */
export async function forgetProject(transaction: Transacted, projectId: string): Promise<void> {
  for (const table of ["host_settings", "host_terms"] as const)
    await deleteWhere(own(transaction), table, { project_id: projectId }).execute();
}
