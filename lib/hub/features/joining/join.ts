import type { JoinRequest } from "../../../contract/joining/records.ts";
import type { Scope } from "../../../contract/surfaces/keys.ts";
import { conflict, hostRemoved, hostTaken, HubError } from "../../base/errors.ts";
import { hashOf } from "../../base/identity.ts";
import { parsedEnds } from "../../records/ends.ts";
import { credentialOf, issueKey } from "../../records/keys.ts";
import type { Locked } from "../../records/locked.ts";
import type { Transacted, TransactedIn } from "../../records/port.ts";
import type { Project } from "../../records/projects.ts";
import { selectWhere } from "../../records/rows.ts";
import { add, enter, hostWithKey } from "./host-records.ts";
import { countUse, stateOfInvite } from "./invite-records.ts";
import { type HostInvitesTable, type JoinedHostsTable } from "./tables.ts";
import { requireNamed } from "./terms.ts";

/** Returns the scopes of the key of a host: with `read` it also sees versions, rollouts and numbers of its fleet. */
export const scopesOfHost = (mayRead: boolean): Scope[] => [
  "deploy",
  "report",
  ...(mayRead ? (["read"] as const) : []),
];

/** Circumstances of a join. */
interface Joining<In> {
  project: Locked<Project, In>;
  invite: Locked<HostInvitesTable, In>;
  address: string;
  /** Milliseconds since 1970. */
  now: number;
}

/** Host after a join, and whether the join changed anything. */
export interface Joined {
  host: Pick<JoinedHostsTable, "host_id" | "state">;
  isNew: boolean;
}

const ENDINGS = {
  revoked: () => "was revoked",
  used: ({ uses }: HostInvitesTable) => `is used up: ${uses} ${uses === 1 ? "host has" : "hosts have"} joined with it`,
  expired: ({ expires_at }: HostInvitesTable) => `expired at ${expires_at}`,
};

/**
 * Admits a host, or makes it wait for approval. Repeating a join with the same key changes nothing: a host that was cut
 * off gets the same answer, even after the invite has expired or was used up.
 *
 * @throws HubError 403 `invite_ended`, `invite_other_host`; 409 for a name or key that is taken
 */
export async function join<In>(
  transaction: TransactedIn<In>,
  request: JoinRequest,
  joining: Joining<In>,
): Promise<Joined> {
  const { project, invite, address, now } = joining;
  const project_id = project.id;
  const key_hash = hashOf(request.key);
  const at = new Date(now).toISOString();
  const state = stateOfInvite(invite, at);
  const known = await hostWithKey(transaction, key_hash);
  if (state === "revoked" || (known === undefined && state !== "open"))
    throw new HubError(403, "invite_ended", `The invite ${ENDINGS[state](invite)}.`);
  if (known !== undefined && known.invite_id === invite.id) return comeBack(transaction, known, request, joining);

  const used = await selectWhere(transaction, "api_keys", { hash: key_hash })
    .select(["host", "revoked_at"])
    .executeTakeFirst();
  // A host that was removed makes another key, and comes back by this invite.
  if (used !== undefined && used.host !== null && used.revoked_at !== null) throw hostRemoved(used.host);
  if (known !== undefined || used !== undefined)
    throw conflict("The key is in use already. A host makes a key of its own for each invite.");
  const { host_id } = request;
  requireNamed(invite, host_id);
  const host: JoinedHostsTable = {
    ...{ project_id, host_id, invite_id: invite.id, key_hash, address, created_at: at, machines: "[]" },
    state: invite.needs_approval === 1 ? "pending" : "joined",
  };
  const other = await add(transaction, host);
  if (other !== undefined) throw hostTaken(other);
  await countUse(transaction, invite);
  if (host.state === "joined") await giveKey(transaction, host_id, request, joining);
  return { host, isNew: true };
}

/** Issues the key of a host that was approved; returns the state of any other. */
async function comeBack<In>(
  transaction: TransactedIn<In>,
  { project_id, host_id, key_hash, state }: JoinedHostsTable,
  request: JoinRequest,
  joining: Joining<In>,
): Promise<Joined> {
  const entered = await enter(transaction, project_id, key_hash);
  if (entered === undefined) {
    await requireSameCredential(transaction, request);
    return { host: { host_id, state }, isNew: false };
  }
  await giveKey(transaction, entered.host_id, request, joining);
  return { host: { host_id: entered.host_id, state: "joined" }, isNew: true };
}

/** Requires the credential that a host got its key with. @throws HubError 409 for another one, which nobody keeps */
async function requireSameCredential(
  transaction: Transacted,
  { key, deployment_credential: credential }: JoinRequest,
): Promise<void> {
  const known = await credentialOf(transaction, hashOf(key));
  if (known !== undefined && known !== hashOf(credential))
    throw conflict("The host has joined with another deployment credential: it asks again with the same two secrets.");
}

async function giveKey<In>(
  transaction: TransactedIn<In>,
  host: string,
  { key, deployment_credential: credential }: JoinRequest,
  { project, invite, now }: Joining<In>,
): Promise<void> {
  const ends = invite.ends === null ? [] : parsedEnds(invite.ends);
  const rights = { name: host, host, scopes: scopesOfHost(invite.may_read === 1), ends, expiresAt: invite.keys_end_at };
  await issueKey(transaction, { ...rights, ownedAs: invite, project }, now, { key, credential });
}
