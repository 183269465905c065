import { hooksOf } from "./hooks.ts";
import { lockKeys } from "./keys.ts";
import { changeTarget } from "./latest/change-target.ts";
import type { Locked } from "./locked.ts";
import type { Queries, TransactedIn } from "./port.ts";
import type { Project } from "./projects.ts";
import { selectWhere, updateWhere } from "./rows.ts";

/** Change of a project's owner. */
export interface OwnerChange {
  owner: string;
  /** Whether the keys that are bound to the project become the new owner's; they are revoked otherwise. */
  keepKeys: boolean;
  /** Current time, ISO 8601. */
  now: string;
}

/** Tells whether an owner has a live key, so that somebody can use what the owner is given. */
export async function hasLiveKey(db: Queries, owner: string, now: string): Promise<boolean> {
  const row = await selectWhere(db, "api_keys", { owner, revoked_at: null })
    .select("id")
    .where((eb) => eb.or([eb("expires_at", "is", null), eb("expires_at", ">", now)]))
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Gives a project, plugin or service to another owner. Its former owner keeps no key that works for it.
 *
 * @returns how many keys were revoked
 */
export async function transferProject<In>(
  transaction: TransactedIn<In>,
  project: Locked<Project, In>,
  transfer: OwnerChange,
): Promise<number> {
  const { id } = project;
  await changeTarget(transaction, id, Date.parse(transfer.now), async (_target, _touch, tell) => {
    await tell({ what: "transfer" });
    await updateWhere(transaction, "projects", { id }).set({ owner: transfer.owner }).execute();
  });
  const revoked = await passOnKeys(transaction, id, transfer);
  for (const hooks of hooksOf(transaction)) await hooks.onTransfer?.(transaction, project, transfer);
  return revoked;
}

async function passOnKeys<In>(
  transaction: TransactedIn<In>,
  projectId: string,
  { owner, keepKeys, now }: OwnerChange,
): Promise<number> {
  await lockKeys(transaction, { project_id: projectId });
  if (keepKeys) {
    await updateWhere(transaction, "api_keys", { project_id: projectId }).set({ owner }).execute();
    return 0;
  }
  const revoked = await updateWhere(transaction, "api_keys", { project_id: projectId, revoked_at: null })
    .set({ revoked_at: now })
    .returning("id")
    .execute();
  const ids = revoked.map(({ id }) => id);
  if (ids.length > 0) await transaction.deleteFrom("sessions").where("key_id", "in", ids).execute();
  return ids.length;
}
