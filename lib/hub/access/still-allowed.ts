import { forbidden, keyRejected } from "../base/errors.ts";
import type { Principal } from "../base/principal.ts";
import { controls } from "../base/rights.ts";
import { type Key, lockKeys, principalOfKey } from "../records/keys.ts";
import { type Locked, locked } from "../records/locked.ts";
import type { TransactedIn } from "../records/port.ts";
import { lockIfThere, lockProject, type Project } from "../records/projects.ts";
import { selectWhere } from "../records/rows.ts";

/** Ids of targets, of which some may be null. */
export type TargetIds = readonly (string | null)[];

/** Key by which a request changes something, and what it changes. */
export interface Authority<Ids extends TargetIds = TargetIds> {
  principal: Principal;
  /** Projects, plugins and services; empty for what belongs to the key's owner, and nulls are passed over. */
  projectIds: Ids;
  /** API keys that it replaces. */
  keyIds?: readonly string[];
}

/** Rows that a request's transaction has locked, from which its change takes owner, host, project and scopes. */
export interface Held<In, Ids extends TargetIds = TargetIds> {
  /** Key of the request; its owner and host stay, since they change under the lock of its project alone. */
  caller: Locked<Key, In>;
  /** Targets in the order of their ids in the authority; null for null. */
  targets: { [Index in keyof Ids]: Ids[Index] extends string ? Locked<Project, In> : Locked<Project, In> | null };
  /** Keys of the authority that are there. */
  keys: readonly Locked<Key, In>[];
}

/**
 * Requires that a request may still do what it might when it began. Locks the targets' rows, and that of the target
 * which its key is bound to: a transfer comes before and is seen, or after and ends what the request has made.
 *
 * @param now ISO 8601
 * @throws HubError 401 for a key that somebody has ended since, 403 for a target that the key acts on no more, 404 for
 *   one that was deleted
 */
export async function requireStill<In, const Ids extends TargetIds>(
  transaction: TransactedIn<In>,
  { principal, projectIds, keyIds = [] }: Authority<Ids>,
  now: string,
): Promise<Held<In, Ids>> {
  const named = new Set<string | null>(projectIds);
  const ids = [...named.union(new Set([principal.projectId]))].filter((id) => id !== null).sort();
  const projects = new Map<string, Locked<Project, In>>();
  for (const id of ids) {
    const project = await (named.has(id) ? lockProject : lockIfThere)(transaction, id);
    if (project === undefined) throw keyRejected();
    projects.set(id, project);
  }
  const key = await selectWhere(transaction, "api_keys", { id: principal.keyId })
    .selectAll()
    .executeTakeFirstOrThrow(() => keyRejected());
  const caller = locked(transaction, key);
  // A key that ends as it was to end lets its last request through.
  const hasEnded = key.expires_at !== null && key.expires_at !== principal.expiresAt && key.expires_at <= now;
  if (key.revoked_at !== null || hasEnded) throw keyRejected();
  const current = principalOfKey(caller);
  const targets = projectIds.map((id) => (id === null ? null : projects.get(id)!));
  if (targets.every((target) => target === null) && current.owner !== principal.owner)
    throw forbidden("The key went to another owner meanwhile.");
  if (targets.some((target) => target !== null && !controls(current, target)))
    throw forbidden("The target went to another owner meanwhile.");
  const keys = [];
  for (const id of [...new Set(keyIds)].sort()) keys.push(...(await lockKeys(transaction, { id })));
  return { caller, targets: targets as Held<In, Ids>["targets"], keys };
}
