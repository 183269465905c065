import type { SignedTerms } from "../../../artifact/sealed/terms.ts";
import type { InviteRecord, InviteRequest } from "../../../contract/joining/records.ts";
import type { Labels } from "../../../contract/labels.ts";
import type { RootDocument } from "../../../contract/trust/root.ts";
import { hashOf, issue, recordId } from "../../base/identity.ts";
import { type Ends, storedEnds } from "../../records/ends.ts";
import type { Key } from "../../records/keys.ts";
import { type Locked, locked } from "../../records/locked.ts";
import type { PageRange, Queries, Transacted, TransactedIn } from "../../records/port.ts";
import type { Project } from "../../records/projects.ts";
import { newestWhere, selectWhere, updateWhere } from "../../records/rows.ts";
import { hostInvites, type HostInvitesTable, own } from "./tables.ts";

/** Facts of an invite that are not in the request. */
interface InviteFacts<In> {
  project: Locked<Project, In>;
  /** Key that makes it, whose owner gets the keys of its hosts. */
  maker: Locked<Key, In>;
  keysEndAt: string | null;
  /** Ends that the keys of its hosts inherit. */
  ends: Ends;
  /** Terms of the request, which were read before. */
  terms: SignedTerms | undefined;
  /** Milliseconds since 1970. */
  now: number;
}

/** Returns the state of an invite. @param now ISO 8601 */
export function stateOfInvite(row: ListedInvite, now: string): InviteRecord["state"] {
  if (row.revoked_at !== null) return "revoked";
  if (row.used >= row.uses) return "used";
  return row.expires_at <= now ? "expired" : "open";
}

/** Returns the name and version of a root that was verified before. */
function rootIn(document: string): InviteRecord["root"] {
  const { "x-sealift-root": id, version } = (JSON.parse(document) as RootDocument).signed;
  return { id, version };
}

/** Invite without its terms, which may name a thousand hosts. */
type ListedInvite = Omit<HostInvitesTable, "terms">;

/** Converts an invite to its form on the wire. @param now ISO 8601 */
const inviteRecord = (row: ListedInvite, now: string): InviteRecord => ({
  id: row.id,
  state: stateOfInvite(row, now),
  uses: row.uses,
  used: row.used,
  approve: row.needs_approval === 1,
  fleet: row.may_read === 1,
  labels: JSON.parse(row.labels) as Labels,
  signers: JSON.parse(row.signers) as string[],
  ...(row.root !== null && { root: rootIn(row.root) }),
  ...(row.terms_digest !== null && { terms_digest: row.terms_digest }),
  expires_at: row.expires_at,
  created_at: row.created_at,
  created_by: row.created_by,
});

/** Makes an invite. Its token is only in the answer. */
export async function insertInvite<In>(
  transaction: TransactedIn<In>,
  { uses = 1, expires_at, labels = {}, approve = false, fleet = false, signers = [], root }: InviteRequest,
  { project, maker, keysEndAt, ends, terms, now }: InviteFacts<In>,
): Promise<InviteRecord & { token: string }> {
  const token = issue("invite");
  const createdAt = new Date(now).toISOString();
  const row: HostInvitesTable = {
    ...{ id: recordId("inv", now), project_id: project.id, owner: maker.owner, hash: hashOf(token), uses, used: 0 },
    ...{ needs_approval: approve ? 1 : 0, labels: JSON.stringify(labels), signers: JSON.stringify(signers) },
    ...{ expires_at: new Date(expires_at).toISOString(), keys_end_at: keysEndAt, revoked_at: null },
    ...{ created_at: createdAt, created_by: maker.id, ends: storedEnds(ends), may_read: fleet ? 1 : 0 },
    ...{ root: root ?? null, terms: terms?.text ?? null, terms_digest: terms?.digest ?? null },
  };
  await own(transaction).insertInto("host_invites").values(row).execute();
  return { ...inviteRecord(row, createdAt), token };
}

/** Columns of an invite in a list. */
const LISTED = Object.keys(hostInvites.rows.shape).filter((column) => column !== "terms") as (keyof ListedInvite)[];

/** Lists invites of a project, newest first. @param now ISO 8601 */
export async function listInvites(
  db: Queries,
  projectId: string,
  range: PageRange,
  now: string,
): Promise<InviteRecord[]> {
  const rows = await newestWhere(own(db), "host_invites", { project_id: projectId }, range).select(LISTED).execute();
  return rows.map((row) => inviteRecord(row, now));
}

/**
 * Revokes an invite of a project, or all of them, unless already revoked. @param now ISO 8601
 *
 * @returns how many
 */
export async function revokeInvites(
  db: Queries,
  facts: { project_id: string; id?: string },
  now: string,
): Promise<number> {
  const { numUpdatedRows } = await updateWhere(own(db), "host_invites", { ...facts, revoked_at: null })
    .set({ revoked_at: now })
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/** Tells whether an invite was revoked, and locks its row so that it stays as it is. */
export async function isRevoked(transaction: Transacted, id: string): Promise<boolean> {
  const invite = await updateWhere(own(transaction), "host_invites", { id })
    .set((eb) => ({ used: eb.ref("used") }))
    .returning("revoked_at")
    .executeTakeFirst();
  return invite !== undefined && invite.revoked_at !== null;
}

/** Days for which an expired invite stays in the list. */
const KEPT_DAYS = 30;

/**
 * Removes invites that expired {@link KEPT_DAYS} ago. Keeps those of hosts that have yet to fetch their keys.
 *
 * @param now milliseconds since 1970
 */
export async function removeOldInvites(db: Queries, now: number): Promise<void> {
  const before = new Date(now - KEPT_DAYS * 24 * 60 * 60 * 1000).toISOString();
  await own(db)
    .deleteFrom("host_invites as i")
    .where("i.expires_at", "<", before)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom("joined_hosts as j")
            .select("j.host_id")
            .whereRef("j.project_id", "=", "i.project_id")
            .whereRef("j.invite_id", "=", "i.id")
            .where("j.state", "in", ["pending", "approved"]),
        ),
      ),
    )
    .execute();
}

export const findInvite = (db: Queries, token: string): Promise<HostInvitesTable | undefined> =>
  selectWhere(own(db), "host_invites", { hash: hashOf(token) })
    .selectAll()
    .executeTakeFirst();

/** Locks the row of the invite with this token, so that joins with it take turns. */
export async function lockInvite<In>(
  transaction: TransactedIn<In>,
  token: string,
): Promise<Locked<HostInvitesTable, In> | undefined> {
  const invite = await updateWhere(own(transaction), "host_invites", { hash: hashOf(token) })
    .set((eb) => ({ used: eb.ref("used") }))
    .returningAll()
    .executeTakeFirst();
  return invite && locked(transaction, invite);
}

/** Counts a host that joins. The caller holds the invite's row. */
export async function countUse<In>(transaction: TransactedIn<In>, { id }: Locked<HostInvitesTable, In>): Promise<void> {
  await updateWhere(own(transaction), "host_invites", { id })
    .set((eb) => ({ used: eb("used", "+", 1) }))
    .execute();
}
